import DBus
import EventLoop
import Glibc
import RecorderModel
import SimulatorControl

/// The recorders that the command line asks for, whichever face they get.
struct Scene {
    let options: Options
    /// The captures of the first recorders; the last folder is that of all further ones.
    let folders: [CaptureFolder]
    let keeper: StateKeeper
    let loop: EventLoop
    private let shown: AsyncStream<(String, String)>
    private let showing: AsyncStream<(String, String)>.Continuation

    init(options: Options, folders: [CaptureFolder], keeper: StateKeeper, loop: EventLoop) {
        self.options = options
        self.folders = folders
        self.keeper = keeper
        self.loop = loop
        (shown, showing) = AsyncStream.makeStream(of: (String, String).self)
    }

    /// What makes the recorder at this position.
    func recorder(_ index: Int) throws(RecorderModelError) -> RecorderConfiguration {
        let serial = Self.successor(ofSerial: options.serial, by: index)
        var recorder = RecorderConfiguration(
            serial: serial, folder: folders[min(index, folders.count - 1)], state: keeper.state(of: serial))
        recorder.pairing = options.pairing
        recorder.batteryLevel = options.battery
        for fault in options.faults { try recorder.faults.apply(fault) }
        return recorder
    }

    func name(of recorder: RecorderConfiguration) -> String {
        "Celestia \(recorder.serial)"
    }

    var onEvent: @Sendable (SimulatorEvent) -> Void {
        let (keeper, showing) = (keeper, showing)
        return { event in
            switch event {
            case .displayed(let serial, let passkey): showing.yield((serial, passkey))
            case .stateChanged(let serial, let state): keeper.keep(state, of: serial)
            case .paired(let serial): Output.print("\(serial) is paired")
            case .connected(let serial): Output.print("\(serial) is connected")
            case .disconnected(let serial): Output.print("\(serial) is disconnected")
            }
        }
    }

    /// Puts the control interface on the bus.
    func control(
        _ host: any RecorderHost, surroundings: [ExportedMethod] = []
    ) async throws(DBusError) -> SimulatorControl {
        let options = options
        let serials = await host.serials
        return try await SimulatorControl.start(host, busAddress: options.bus, surroundings: surroundings) {
            serial throws(RecorderModelError) in
            let index = serials.firstIndex(of: serial) ?? 0
            let path = options.captures[min(index, options.captures.count - 1)]
            return try CaptureFolder(path: path, hashing: options.hashesFiles)
        }
    }

    /// Ends the process when `work` returns, or with standard input where that is wanted. Until then the numbers on the
    /// displays are passed on.
    func wait(
        for work: @escaping @Sendable () async -> Void, telling control: SimulatorControl?
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await work() }
            if options.exitsWithStdin { group.addTask { await Self.waitForEndOfInput() } }
            group.addTask {
                for await (serial, passkey) in shown {
                    Output.print("\(serial) shows \(passkey)")
                    await control?.shown(passkey, on: serial)
                }
            }
            _ = await group.next()
            // The process ends here; nothing needs an orderly end.
            exit(0)
        }
    }

    /// Standard input may be a file, which epoll refuses, so a thread of its own waits for its end.
    private static func waitForEndOfInput() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            Thread.start {
                var byte: UInt8 = 0
                while true {
                    let count = read(0, &byte, 1)
                    if count == 0 || count < 0 && errno != EINTR { break }
                }
                continuation.resume()
            }
        }
    }

    /// The address with so much added to its last byte.
    static func successor(of address: String, by count: Int) -> String {
        var parts = address.split(separator: ":").map { UInt8($0, radix: 16) ?? 0 }
        parts[5] = parts[5] &+ UInt8(truncatingIfNeeded: count)
        let digits = parts.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true) }
        return digits.joined(separator: ":")
    }

    /// The serial number with its last digits counted up.
    private static func successor(ofSerial serial: String, by count: Int) -> String {
        guard count > 0 else { return serial }
        let digits = serial.reversed().prefix { $0.isASCII && $0.isNumber }.prefix(9).reversed()
        guard let number = Int(String(digits)) else { return "\(serial)-\(count + 1)" }
        let next = String(number + count)
        let padding = String(repeating: "0", count: max(0, digits.count - next.count))
        return serial.dropLast(digits.count) + padding + next
    }
}
