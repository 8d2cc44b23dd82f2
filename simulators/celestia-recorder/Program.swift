import DBus
import EventLoop
import FakeBlueZ
import Glibc
import RecorderModel

@main
enum Program {
    static func main() async {
        let options: Options
        do throws(UsageError) {
            options = try Options(Array(CommandLine.arguments.dropFirst()))
        } catch {
            Output.complain("\(error.message); see --help")
            exit(2)
        }
        guard !options.wantsHelp else { return Output.write(Options.help, to: 1) }
        do {
            try await run(options)
        } catch {
            Output.complain("\(error)")
            exit(1)
        }
    }

    private static func run(_ options: Options) async throws {
        let keeper = try StateKeeper(path: options.stateFile)
        let folders = try options.captures.map { path in
            try CaptureFolder(path: path, hashing: options.hashesFiles)
        }
        for remark in folders.flatMap(\.remarks) { Output.complain(remark) }
        let peripherals = try (0..<options.recorders).map { index in
            try peripheral(index, options, folders[min(index, folders.count - 1)], keeper)
        }
        var configuration = FakeBlueZConfiguration(busAddress: options.bus, peripherals: peripherals)
        configuration.version = options.version
        configuration.adapters = (0..<options.adapters).map { index in
            .init(name: "hci\(index)", address: successor(of: "00:1A:7D:DA:71:13", by: index))
        }
        let loop = try EventLoop.start(name: "bluez")
        let (shown, showing) = AsyncStream.makeStream(of: (String, String).self)
        let blueZ = FakeBlueZ(configuration, loop: loop) { event in
            switch event {
            case .displayed(let serial, let passkey): showing.yield((serial, passkey))
            case .stateChanged(let serial, let state): keeper.keep(state, of: serial)
            case .paired(let serial): Output.print("\(serial) is paired")
            case .connected(let serial): Output.print("\(serial) is connected")
            case .disconnected(let serial): Output.print("\(serial) is disconnected")
            }
        }
        let serials = peripherals.map(\.recorder.serial)
        let control = try await SimulatorControl.start(blueZ, busAddress: options.bus) {
            serial throws(RecorderModelError) in
            let index = serials.firstIndex(of: serial) ?? 0
            let path = options.captures[min(index, options.captures.count - 1)]
            return try CaptureFolder(path: path, hashing: options.hashesFiles)
        }
        try await blueZ.start()
        let listed = peripherals.map { "\($0.recorder.serial)@\($0.address)" }.joined(separator: ",")
        let adapters = configuration.adapters.map(\.name).joined(separator: ",")
        Output.print("ready bus=\(options.bus) adapters=\(adapters) recorders=\(listed)")
        await wait(for: control, stdin: options.exitsWithStdin, shown)
    }

    /// Returns when the bus goes, or standard input where that is wanted.
    private static func wait(
        for control: SimulatorControl, stdin: Bool, _ shown: AsyncStream<(String, String)>
    ) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await control.serve() }
            if stdin { group.addTask { await waitForEndOfInput() } }
            group.addTask {
                for await (serial, passkey) in shown {
                    Output.print("\(serial) shows \(passkey)")
                    await control.shown(passkey, on: serial)
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

    // MARK: Recorders

    private static func peripheral(
        _ index: Int, _ options: Options, _ folder: CaptureFolder, _ keeper: StateKeeper
    ) throws(RecorderModelError) -> PeripheralConfiguration {
        let serial = successor(ofSerial: options.serial, by: index)
        var recorder = RecorderConfiguration(serial: serial, folder: folder, state: keeper.state(of: serial))
        recorder.pairing = options.pairing
        recorder.batteryLevel = options.battery
        for fault in options.faults { try recorder.faults.apply(fault) }
        var peripheral = PeripheralConfiguration(
            recorder: recorder, address: successor(of: options.address, by: index), name: "Celestia \(serial)"
        )
        peripheral.confirmation = options.confirmation
        peripheral.passkey = options.passkey
        peripheral.mtu = options.mtu
        return peripheral
    }

    /// The address with so much added to its last byte.
    private static func successor(of address: String, by count: Int) -> String {
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
