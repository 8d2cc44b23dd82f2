import Control
import FoundationEssentials
import Gateway

/// What a look brought, or why it brought nothing.
enum Look<Value: Sendable>: Sendable {
    case found(Value)
    case blind(String)

    var value: Value? {
        if case .found(let value) = self { value } else { nil }
    }

    func map<Other>(_ change: (Value) -> Other) -> Look<Other> {
        switch self {
        case .found(let value): .found(change(value))
        case .blind(let reason): .blind(reason)
        }
    }
}

/// Everything that the doctor's rules go by.
struct DoctorFacts: Sendable {
    /// The version of the program that looks.
    var program = Version.number
    var now: Date
    /// Who asks: the name, or `uid N`.
    var user: String
    var isRoot = false
    /// Where the configuration is read from.
    var configurationPath = Configuration.defaultPath
    var configuration: Look<Configuration>
    /// Each key, and where it was set.
    var settings: [ConfigurationSetting] = []
    var bus: BusFacts
    /// systemd's word on the two services.
    var service: Look<UnitFacts> = .blind("systemd was not asked")
    var bluetoothService: Look<UnitFacts> = .blind("systemd was not asked")
    var daemon: DaemonFacts
    var radio: Look<RadioFacts>
    var bluez: Look<BlueZFacts>
    var clock: Look<ClockFacts>
    var disk: Look<DiskFacts>
    var credentials: Look<CredentialFacts>
    /// What this program itself hears from the cloud; asked where the daemon cannot say.
    var cloud: Look<ReachFacts>
    /// nil: no folder is watched.
    var folder: Look<FolderFacts>?
    /// What there is of what commands need.
    var tools = ToolFacts()
}

struct ToolFacts: Sendable {
    var hasRFKill = true
    /// Whether something is installed that can set the clock by the network.
    var hasTimeService = true
    var hasACLs = true
}

/// The message bus.
struct BusFacts: Sendable {
    var address: String
    /// Whether it is the machine's own, to which the policy files belong.
    var isSystemBus = true
    /// Why there is no connection to it; nil: there is one.
    var trouble: String?
    /// Whether the policy file is where the bus reads it.
    var hasPolicy = true
}

/// What the daemon answered.
struct DaemonFacts: Sendable {
    var status: Result<StatusDocument, ControlError>
    var storage: Result<StorageReportDocument, ControlError>?
    var cloud: Result<CloudStatusDocument, ControlError>?

    static let notAsked = DaemonFacts(status: .failure(ControlError(.noBus, "there is no message bus")))

    var isRunning: Bool {
        switch status {
        case .success: true
        case .failure(let error): ![.notRunning, .noBus].contains(error.code)
        }
    }

    /// Why the daemon's word is not known.
    var silence: String {
        switch status {
        case .success: "the daemon did not say"
        case .failure(let error): error.message
        }
    }
}

/// What systemd says of a unit.
struct UnitFacts: Sendable, Equatable {
    var load = "loaded"
    var active = "active"
    var sub = "running"
    var result = "success"
    /// `enabled`, `disabled`, …
    var file = "enabled"
    /// How often it was started anew by itself.
    var restarts = 0
    var needsReload = false
    var dropIns: [String] = []
    /// `Restart=`.
    var restart = "on-failure"
    var exitStatus = 0
    /// `ProtectHome=`, as systemd spells it.
    var protectHome = "yes"
    /// `PrivateTmp=`.
    var hidesTemporary = true
    /// What `BindPaths=` and `BindReadOnlyPaths=` show all the same, but below a home that `yes` has made inaccessible.
    var shown: [String] = []
    /// Whether its `Condition…=` were met when it was last to start.
    var conditionsMet = true
}

/// The radio as the kernel has it.
struct RadioFacts: Sendable, Equatable {
    struct Controller: Sendable, Equatable {
        var name: String
        /// The USB device that it is on.
        var usb: USBDevice?
    }

    struct USBDevice: Sendable, Equatable {
        /// As in /sys/bus/usb/devices.
        var name: String
        /// `power/control`: `on` or `auto`.
        var control: String
    }

    struct Switch: Sendable, Equatable {
        /// As in /sys/class/rfkill.
        var name: String
        var isSoftBlocked = false
        var isHardBlocked = false
    }

    /// Whether the kernel's Bluetooth is there at all.
    var hasBluetooth = true
    var controllers: [Controller] = []
    /// nil: the kernel has no rfkill.
    var switches: [Switch]? = []
    /// Whether this process may have Bluetooth sockets.
    var hasSockets = true
    /// What kind of container this is; nil: none that shows.
    var container: String?
    /// What the firmware calls the board, such as `Raspberry Pi 4 Model B Rev 1.5`; nil where it has no name.
    var board: String?
    /// Whether the rules that keep adapters awake are installed.
    var hasRules = true
}

/// What bluetoothd says, and which it is.
struct BlueZFacts: Sendable, Equatable {
    struct Adapter: Sendable, Equatable {
        var name: String
        var address = "00:11:22:33:44:55"
        var isPowered = true
        /// `org.bluez.Adapter1.PowerState`, from 5.82 on.
        var powerState: String?
        /// nil where BlueZ does not say.
        var roles: [String]?
    }

    var isRunning = true
    /// Why it does not answer although it runs.
    var refusal: String?
    var adapters: [Adapter] = []
    /// The installed version, such as `5.66-1+deb12u2`.
    var version: String?
}

struct ClockFacts: Sendable, Equatable {
    /// What the kernel says (adjtimex(2)); nil: nothing.
    var isSynchronized: Bool?
    /// The unit that runs to keep it, such as `systemd-timesyncd`; nil: none that is known.
    var keeper: String?
}

/// The file system of the state directory.
struct DiskFacts: Sendable, Equatable {
    var path: String
    /// Whether the packages and the journal lie there too.
    var isSystems = true
    var total: Int64
    /// Free for the daemon's user.
    var free: Int64
    var isReadOnly = false
    /// Inodes; 0 where the file system has none to count.
    var files: Int64 = 0
    var freeFiles: Int64 = 0
}

/// The state directory and the file with the tokens.
struct CredentialFacts: Sendable, Equatable {
    enum File: Sendable, Equatable {
        case absent
        /// We may not look there.
        case hidden
        case found(mode: UInt32, owner: UInt32)
    }

    var directory: String
    var state: File
    var tokens: File
    /// The daemon's user; nil: there is none of that name.
    var daemonUser: UInt32?
    var userName = "celestiad"
}

/// A call of the cloud's health.
struct ReachFacts: Sendable, Equatable {
    enum Stage: Sendable, Equatable {
        case name, connection, certificate, clock, answer
    }

    /// What failed; nil: it is well.
    var stage: Stage?
    var host: String
    var message = ""
    var hint: String?
    var milliseconds: Int64 = 0
    /// Our clock less the server's.
    var skewMs: Int64?
}

/// The watched folder.
struct FolderFacts: Sendable, Equatable {
    enum Place: Sendable, Equatable {
        case absent
        case noFolder
        /// Whether the daemon's user may read it by the modes; nil: that cannot be told.
        case folder(isReadable: Bool?)
    }

    var path: String
    var place: Place
    /// The folders on the way that the daemon's user may not pass.
    var closed: [String] = []
    var userName = "celestiad"
}
