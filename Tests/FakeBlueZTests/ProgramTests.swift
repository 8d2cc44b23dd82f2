import DBus
import EventLoop
import Foundation
import TestSupport
import Testing

/// The program as a user starts it, and bluetoothctl as the judge of what it shows.
@Suite(.timeLimit(.minutes(5)), .serialized) struct ProgramTests {
    private static let program = products + "/celestia-recorder"

    /// The folder that the test bundle was built into.
    private static var products: String {
        let arguments = CommandLine.arguments
        if let flag = arguments.firstIndex(of: "--test-bundle-path"), flag + 1 < arguments.count {
            return URL(fileURLWithPath: arguments[flag + 1]).deletingLastPathComponent().path
                .replacing(/\/[^\/]+\.xctest.*/, with: "")
        }
        return URL(fileURLWithPath: arguments[0]).deletingLastPathComponent().path
    }

    private static let bluetoothctl = "/usr/bin/bluetoothctl"

    private func captures() throws -> TemporaryDirectory {
        let folder = TemporaryDirectory()
        try Data([1]).write(to: URL(fileURLWithPath: folder.path + "/a.wav"))
        return folder
    }

    @Test func theControlInterfaceReachesTheRecorders() async throws {
        let (bus, folder) = (try TestBus(), try captures())
        let recorder = try StdinTetheredProcess([
            Self.program, "--bus", bus.address, "--captures", folder.path, "--recorders", "2", "--serial",
            "X-099",
        ])
        let ready = try recorder.readLine()
        #expect(ready.hasPrefix("ready bus=\(bus.address) adapters=hci0"))
        #expect(ready.hasSuffix("recorders=X-099@C0:FF:EE:00:00:01,X-100@C0:FF:EE:00:00:02"))
        let loop = try EventLoop.start()
        defer { loop.stop() }
        let client = try await Connection.open(bus.address, on: loop)
        let name = "life.ccdw.CelestiaSim1"
        func call(_ member: String, _ arguments: [DBusValue] = []) async throws(DBusError) -> [DBusValue] {
            try await client.call(
                MethodCall(name, ObjectPath(trusted: "/sim"), name, member, arguments), timeout: .seconds(20))
        }
        #expect(try await call("Recorders") == [.strings(["X-099", "X-100"])])
        #expect(try await call("SetFault", [.string("X-100"), .string("lose-every=5")]).isEmpty)
        for arguments in [["X-100", "nonsense"], ["nobody", "endless"]] {
            await #expect(throws: DBusError.self) {
                try await call("SetFault", arguments.map { .string($0) })
            }
        }
        #expect(try await call("Transfers", [.string("")]).first?.asArray == [])
        #expect(try await call("RestartBluetoothd").isEmpty)
        #expect(try await client.owner(of: "org.bluez") != nil)
        await client.close()
    }

    @Test func wrongOptionsAreTold() throws {
        for arguments in [[], ["--bus"], ["--bus", "x"], ["--nonsense", "1"], ["stray"]] {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: Self.program)
            process.arguments = arguments
            let errors = Pipe()
            process.standardError = errors
            try process.run()
            let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            process.waitForEnd()
            #expect(process.terminationStatus == 2)
            #expect(text.hasPrefix("celestia-recorder: ") && text.hasSuffix("; see --help\n"))
        }
    }

    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: bluetoothctl), "package bluez is not installed"))
    func bluetoothctlListsConnectsAndPairs() throws {
        let (bus, folder) = (try TestBus(), try captures())
        let recorder = try StdinTetheredProcess([
            Self.program, "--bus", bus.address, "--captures", folder.path, "--passkey", "42",
        ])
        _ = try recorder.readLine()
        let tool = try Conversation(Self.bluetoothctl, ["DBUS_SYSTEM_BUS_ADDRESS": bus.address])
        let address = "C0:FF:EE:00:00:01"
        try tool.expect("Agent registered")
        for (command, answer) in [
            ("list", "Controller 00:1A:7D:DA:71:13 hub [default]"), ("show", "Powered: yes"),
            ("scan on", "Device \(address) Celestia CEL-0001"), ("scan off", "Discovery stopped"),
            ("connect \(address)", "ServicesResolved: yes"), ("pair \(address)", "Confirm passkey 000042"),
            ("yes", "Pairing successful"), ("info \(address)", "Battery Percentage: 0x57 (87)"),
            ("disconnect \(address)", "Successful disconnected"),
            ("remove \(address)", "Device has been removed"),
        ] {
            try tool.say(command)
            try tool.expect(answer)
        }
    }
}

/// A program that is talked to line by line.
private final class Conversation {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var heard = ""

    init(_ program: String, _ environment: [String: String]) throws {
        process.executableURL = URL(fileURLWithPath: program)
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        process.terminate()
        process.waitForEnd()
    }

    func say(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// Reads until the text comes; what was before it is gone.
    func expect(_ text: String) throws {
        while true {
            if let range = heard.range(of: text) {
                heard = String(heard[range.upperBound...])
                return
            }
            let more = output.fileHandleForReading.availableData
            try #require(!more.isEmpty, "ended without \(text): \(heard)")
            heard += String(decoding: more, as: UTF8.self)
        }
    }
}
