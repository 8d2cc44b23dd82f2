import DBus

/// A log that is steered while the program runs, by the names of org.freedesktop.LogControl1(5).
package protocol LogControl: Sendable {
    /// `err`, `warning`, `notice`, `info` or `debug`.
    var level: String { get }
    /// `journal` or `console`.
    var target: String { get }
    /// Throws `invalidArgument` for a level that there is not.
    func setLevel(_ name: String) throws(ControlError)
    /// Throws `invalidArgument` for a target that there is not.
    func setTarget(_ name: String) throws(ControlError)
}

extension LogControl {
    /// What `systemctl service-log-level` and `service-log-target` talk to.
    var exported: ExportedObject {
        ExportedObject(
            ControlNames.logControl,
            [
                ExportedInterface(
                    "org.freedesktop.LogControl1",
                    properties: [
                        ExportedProperty("LogLevel", .string, set: Self.setter(setLevel)) {
                            .string(level)
                        },
                        ExportedProperty("LogTarget", .string, set: Self.setter(setTarget)) {
                            .string(target)
                        },
                        ExportedProperty("SyslogIdentifier", .string) { .string("celestiad") },
                    ])
            ])
    }

    private static func setter(
        _ set: @escaping @Sendable (String) throws(ControlError) -> Void
    ) -> ExportedProperty.Setter {
        { value, _ throws(DBusError) in
            do throws(ControlError) {
                try set(value.asString ?? "")
            } catch {
                throw error.dbus
            }
        }
    }
}
