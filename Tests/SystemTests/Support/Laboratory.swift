import Control
import DBus
import EventLoop
import Foundation
import TestSupport
import Testing

/// Everything that celestiad needs around it, of its own for one test: a message bus, a simulated bluetoothd with
/// recorders, a simulated cloud. The daemon and the command line are the programs of this build, told by nothing but
/// the environment where all that is.
final class Laboratory: Sendable {
    struct Setup: Sendable {
        /// What each recorder serves; none: there is no bluetoothd.
        var captures: [Captures] = []
        var recorderOptions: [String] = []
        var cloudOptions: [String] = []
        /// For the daemon.
        var environment: [String: String] = [:]
        var startsDaemon = true
    }

    static let password = "countess"
    static let passkey = "482913"

    let setup: Setup
    let bus: TestBus
    let folder = TemporaryDirectory()
    let loop: EventLoop
    /// For the simulator's control interface and for org.bluez.
    let connection: Connection
    let client: ControlClient
    private let recorder: StdinTetheredProcess?
    private let parts: Locked<Parts>

    private struct Parts {
        var cloud: CloudSimulator
        var daemon: Child?
        /// How many daemons and command lines were started.
        var runs = 0
    }

    var cloud: CloudSimulator {
        get { parts.withLock { $0.cloud } }
        set { parts.withLock { $0.cloud = newValue } }
    }

    var state: String { folder.path + "/state" }

    private init(_ setup: Setup) async throws {
        self.setup = setup
        bus = try TestBus()
        loop = try EventLoop.start(name: "test")
        connection = try await Connection.open(bus.address, on: loop)
        client = try await ControlClient.connect(bus.address, on: loop)
        parts = Locked(Parts(cloud: try CloudSimulator(setup.cloudOptions)))
        try Data().write(to: URL(fileURLWithPath: folder.path + "/celestiad.conf"))
        try Data((Self.password + "\n").utf8).write(to: URL(fileURLWithPath: folder.path + "/password"))
        try Data((Self.passkey + "\n").utf8).write(to: URL(fileURLWithPath: folder.path + "/passkey"))
        recorder = setup.captures.isEmpty ? nil : try Self.startRecorders(setup, bus)
        if setup.startsDaemon { try await startDaemon() }
    }

    private static func startRecorders(_ setup: Setup, _ bus: TestBus) throws -> StdinTetheredProcess {
        let recorder = try StdinTetheredProcess(
            [
                Programs.recorder, "--bus", bus.address, "--recorders", String(setup.captures.count), "--mtu",
                "517", "--manifest-sha256", "--passkey", passkey,
            ] + setup.captures.flatMap { ["--captures", $0.folder.path] } + setup.recorderOptions)
        _ = try recorder.readLine()
        return recorder
    }

    /// Runs `body` with all of it, checks that the daemon lives when it should, and takes everything down.
    static func run(
        _ setup: Setup, sourceLocation: SourceLocation = #_sourceLocation,
        _ body: (Laboratory) async throws -> Void
    ) async throws {
        let laboratory = try await Laboratory(setup)
        let result: Result<Void, any Error>
        do { result = .success(try await body(laboratory)) } catch { result = .failure(error) }
        if case .failure(let error) = result {
            Issue.record(
                "\(error)\n--- the daemon's log\n\(laboratory.log(lines: 40))", sourceLocation: sourceLocation
            )
        }
        laboratory.checkLog(sourceLocation)
        await laboratory.connection.close()
        await laboratory.client.close()
        laboratory.parts.withLock { $0.daemon }?.end()
        laboratory.loop.stop()
    }

    static func run(
        _ captures: Captures..., recorderOptions: [String] = [], cloudOptions: [String] = [],
        environment: [String: String] = [:], startsDaemon: Bool = true,
        sourceLocation: SourceLocation = #_sourceLocation, _ body: (Laboratory) async throws -> Void
    ) async throws {
        let setup = Setup(
            captures: captures, recorderOptions: recorderOptions, cloudOptions: cloudOptions,
            environment: environment, startsDaemon: startsDaemon)
        try await run(setup, sourceLocation: sourceLocation, body)
    }
}

// MARK: - The daemon

extension Laboratory {
    var environment: [String: String] {
        [
            "CELESTIAD_BUS": bus.address, "CELESTIAD_CLOUD_URL": cloud.address,
            "CELESTIAD_STATE_DIRECTORY": state, "CELESTIAD_CONFIG": folder.path + "/celestiad.conf",
            "CELESTIAD_QUEUE_RESERVED_MIB": "0", "CELESTIAD_QUEUE_RESERVED_PERCENT": "0",
        ].merging(setup.environment) { $1 }
    }

    private var logFile: String { folder.path + "/daemon-\(parts.withLock { $0.runs }).log" }

    /// Starts the daemon and waits until it says that it is ready. Its log begins anew.
    func startDaemon() async throws {
        parts.withLock { $0.runs += 1 }
        let daemon = try Child(
            [Programs.celestiad, "run"], output: logFile, errors: logFile, environment: environment)
        parts.withLock { $0.daemon = daemon }
        try await waitUntil("the daemon is ready") { self.log().contains("notice: ready\n") }
    }

    func signalDaemon(_ signal: Int32) {
        parts.withLock { $0.daemon }?.signal(signal)
    }

    /// Sends the signal and returns how the daemon ended.
    func endDaemon(_ signal: Int32) async -> Int32 {
        guard let daemon = parts.withLock({ $0.daemon }) else { return -1 }
        daemon.signal(signal)
        return await daemon.waitUntilExit()
    }

    /// Whatever was done: at level info and above no line names a file or holds a secret.
    private func checkLog(_ sourceLocation: SourceLocation) {
        let text = log().split(separator: "\n").filter { !$0.hasPrefix("debug: ") }.joined(separator: "\n")
        for secret in setup.captures.flatMap({ $0.files.map(\.name) }) + [Self.password, Self.passkey] {
            #expect(!text.contains(secret), "the log holds \(secret)", sourceLocation: sourceLocation)
        }
    }

    /// What the daemon that was started last has logged; only the last lines where a number is given.
    func log(lines: Int? = nil) -> String {
        let text = (try? String(contentsOfFile: logFile, encoding: .utf8)) ?? ""
        guard let lines else { return text }
        return text.split(separator: "\n").suffix(lines).joined(separator: "\n")
    }
}

// MARK: - The command line

/// What one run of a program came to.
struct Ending: Sendable, CustomStringConvertible {
    let status: Int32
    let output: String
    let errors: String

    var description: String { "exit \(status)\n\(output)\(errors)" }

    /// Whether it ended so, with a message that holds all of these.
    func says(_ status: Int32, _ texts: [String]) -> Bool {
        self.status == status && texts.allSatisfy { errors.contains($0) }
    }
}

extension Laboratory {
    /// Runs a verb to its end. JSON that its schema does not know is a failure of the test.
    @discardableResult
    func cli(_ arguments: String..., environment: [String: String] = [:]) async throws -> Ending {
        try await Self.celestiad(arguments, self.environment.merging(environment) { $1 })
    }

    static func celestiad(_ arguments: [String], _ environment: [String: String]) async throws -> Ending {
        let folder = TemporaryDirectory()
        let (output, errors) = (folder.path + "/output", folder.path + "/errors")
        let child = try Child(
            [Programs.celestiad] + arguments, output: output, errors: errors, environment: environment)
        let status = await child.waitUntilExit()
        let ending = Ending(
            status: status, output: try String(contentsOfFile: output, encoding: .utf8),
            errors: try String(contentsOfFile: errors, encoding: .utf8))
        #expect(PrintedJSON.faults(ending.output, of: arguments) == [], "\(arguments)")
        return ending
    }

    func logIn() async throws {
        let ending = try await cli("login", "ada", "--password-file", folder.path + "/password")
        try #require(ending.status == 0, "\(ending)")
    }

    /// Pairs with the nth recorder as a script does that knows the number on its display.
    func pair(_ number: Int = 1) async throws {
        let ending = try await cli(
            "pair", "--device", Self.address(number), "--passkey-file", folder.path + "/passkey")
        try #require(ending.status == 0, "\(ending)")
    }

    static func address(_ number: Int = 1) -> String { "C0:FF:EE:00:00:0\(number)" }

    static func serial(_ number: Int = 1) -> String { "CEL-000\(number)" }
}
