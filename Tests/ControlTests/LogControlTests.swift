import Control
import DBus
import EventLoop
import Foundation
import Gateway
import TestSupport
import Testing

@testable import celestiad

/// As systemctl service-log-level asks (org.freedesktop.LogControl1(5)).
@Suite(.timeLimit(.minutes(5))) struct LogControlTests {
    @Test func theLogIsSteeredOverTheBus() async throws {
        let bus = try TestBus()
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let log = Log(level: .info, target: .journal, sinks: [.journal: { _ in }, .console: { _ in }])
        let connection = try await Connection.open(bus.address, on: loop)
        let server = ControlServer(
            connection: connection, model: StubModel(), logControl: DaemonLogControl(log: log))
        try await server.start()
        let serving = Task { await server.serve() }
        let client = try await Connection.open(bus.address, on: loop)

        @Sendable func call(_ member: String, _ arguments: [DBusValue]) async throws(DBusError) -> [DBusValue]
        {
            try await client.call(
                MethodCall(
                    ControlNames.busName, ControlNames.logControl, "org.freedesktop.DBus.Properties", member,
                    [.string("org.freedesktop.LogControl1")] + arguments))
        }
        @Sendable func value(_ name: String) async throws -> String? {
            try await call("Get", [.string(name)]).first?.asString
        }
        #expect(try await value("LogLevel") == "info")
        #expect(try await value("LogTarget") == "journal")
        #expect(try await value("SyslogIdentifier") == "celestiad")
        for (set, name, level) in [
            ("debug", "debug", LogLevel.debug), ("err", "err", .error), ("crit", "err", .error),
        ] {
            _ = try await call("Set", [.string("LogLevel"), .variant(.string(set))])
            #expect(log.level == level)
            #expect(try await value("LogLevel") == name)
        }
        _ = try await call("Set", [.string("LogTarget"), .variant(.string("console"))])
        #expect(log.target == .console)
        _ = try await call("Set", [.string("LogTarget"), .variant(.string("auto"))])
        #expect(log.target == .journal)
        for (name, wrong) in [("LogLevel", "loud"), ("LogTarget", "kmsg"), ("SyslogIdentifier", "x")] {
            await #expect(throws: DBusError.self) {
                try await call("Set", [.string(name), .variant(.string(wrong))])
            }
        }
        let xml = try await client.call(
            MethodCall(
                ControlNames.busName, ControlNames.logControl, "org.freedesktop.DBus.Introspectable",
                "Introspect"))
        #expect(
            xml.first?.asString?.contains(#"<property name="LogLevel" type="s" access="readwrite"/>"#) == true
        )
        await client.close()
        await connection.close()
        await serving.value
    }
}
