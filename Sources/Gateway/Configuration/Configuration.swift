package import Recorder

/// What the daemon is told: by `/etc/celestiad/celestiad.conf`, and over it by `CELESTIAD_…` variables.
package struct Configuration: Sendable, Equatable {
    /// Where the queue, the spool and the credentials are.
    package var stateDirectory = "/var/lib/celestiad"
    package var logLevel = LogLevel.info
    /// The D-Bus address of the bus that BlueZ and our own API are on.
    package var busAddress = "unix:path=/run/dbus/system_bus_socket"
    /// The API's base URL, as written; checked when the cloud client is made.
    package var cloudURL = "https://api.ccdw.life/celestia-trace/v1"
    /// A file of certificates to trust instead of the system's.
    package var cloudCAFile: String?
    /// `sha256//…` public key pins, as curl takes them.
    package var cloudPinnedKey: String?
    /// Whom to log in as without being asked; nil: nobody.
    package var cloudIdentifier: String?
    /// The file of the systemd credential with the password for that.
    package var passwordFile: String?
    /// The address of the only adapter to use; nil for any.
    package var adapter: String?
    /// When a capture's objects may be deleted on the recorder.
    package var deletePolicy = DeletePolicy.afterUpload
    /// How long a connected recorder that has nothing new is left alone.
    package var syncInterval = Duration.seconds(15 * 60)
    /// Free space that pulls leave untouched.
    package var reservedMiB: Int64 = 512
    package var reservedPercent: Int64 = 5
    /// How long imported bytes stay in the spool.
    package var keepAfterUpload = Duration.zero
    /// Assets uploaded at the same time.
    package var parallelUploads = 2
    /// How fast uploads may be, all together.
    package var uploadRates = RateTimetable.unlimited
    /// Whether uploads wait while the network is metered.
    package var holdsWhenMetered = true
    /// The folder whose files are taken into the queue; nil for none.
    package var watchedFolder: String?
    /// How long a file there must not have changed before it is taken.
    package var folderSettling = Duration.seconds(10)
    /// Where metrics go.
    package var metrics = MetricsConfiguration()
    /// The broker that Home Assistant is told by; none without a host.
    package var mqtt = MQTTConfiguration()

    package init() {}
}
