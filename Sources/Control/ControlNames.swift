package import DBus

/// Every name of the daemon's D-Bus API in one place; `dbus/` holds their descriptions.
package enum ControlNames {
    /// The well-known bus name. An incompatible API gets a new digit and stands beside this one.
    package static let busName = "life.ccdw.Celestia1"
    /// The object that answers Manager, Cloud and ObjectManager.
    package static let root = ObjectPath(trusted: "/life/ccdw/Celestia1")
    package static let manager = "life.ccdw.Celestia1.Manager"
    package static let cloud = "life.ccdw.Celestia1.Cloud"
    package static let recorder = "life.ccdw.Celestia1.Recorder"
    package static let session = "life.ccdw.Celestia1.Session"
    package static let job = "life.ccdw.Celestia1.Job"
    /// Where org.freedesktop.LogControl1(5) is looked for.
    package static let logControl = ObjectPath(trusted: "/org/freedesktop/LogControl1")
    /// Jobs are `jobs/N`, N never used twice while the daemon runs.
    static let jobs = root.appending("jobs")
    static let errorPrefix = "life.ccdw.Celestia1.Error."
    /// Grows with every addition to the API.
    static let apiVersion: UInt32 = 4
}
