import Foundation

/// A message bus of its own for one test: a private dbus-daemon that ends with this value, and with the test process
/// should that die first.
package final class TestBus: Sendable {
    /// The bus address to connect to.
    package let address: String
    private let directory = TemporaryDirectory()
    private let child: StdinTetheredProcess

    package init() throws {
        address = "unix:path=\(directory.path)/bus"
        let configuration = """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>\(address)</listen>
              <auth>EXTERNAL</auth>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
            </busconfig>
            """
        let file = directory.path + "/bus.conf"
        try Data(configuration.utf8).write(to: URL(fileURLWithPath: file))
        child = try StdinTetheredProcess([
            "dbus-daemon", "--nofork", "--print-address", "--config-file=\(file)",
        ])
        _ = try child.readLine()
    }

    /// Ends the bus now, as a crash would.
    package func stop() {
        child.kill()
    }
}
