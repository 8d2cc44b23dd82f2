import FakeBlueZ
import RecorderModel

/// What is wrong with the command line.
struct UsageError: Error {
    let message: String
}

/// The command line of celestia-recorder.
struct Options {
    /// Empty for none, which only an adapter does without.
    var bus = ""
    /// The real adapter that becomes the recorder's; nil for a simulated BlueZ.
    var adapter: String?
    var captures: [String] = []
    var hashesFiles = false
    var serial = "CEL-0001"
    var recorders = 1
    var address = "C0:FF:EE:00:00:01"
    var adapters = 1
    var mtu: UInt16 = 247
    var faults: [String] = []
    var stateFile: String?
    var pairing = PairingMethod.numericComparison
    var passkey: UInt32?
    var confirmation = RecorderConfirmation.automatic
    var version = BlueZVersion.debian12
    var battery: UInt8 = 87
    var exitsWithStdin = false
    var wantsHelp = false
    /// The first option that only a simulated BlueZ has.
    private var simulatedOption: String?

    private static let simulatedOptions: Set<String> = [
        "--recorders", "--address", "--adapters", "--mtu", "--passkey", "--bluez",
    ]
    private static let systemBus = "unix:path=/run/dbus/system_bus_socket"

    init(_ arguments: [String]) throws(UsageError) {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if try takeFlag(option) { continue }
            guard let value = rest.popFirst() else { throw UsageError(message: "\(option) needs a value") }
            if Self.simulatedOptions.contains(option) { simulatedOption = simulatedOption ?? option }
            try take(option, value)
        }
        guard !wantsHelp else { return }
        if let adapter {
            if let simulatedOption {
                throw UsageError(
                    message: "\(simulatedOption) is for a simulated BlueZ, \(adapter) is a real adapter")
            }
            if bus.isEmpty { bus = Self.systemBus }
        }
        guard !bus.isEmpty else { throw UsageError(message: "--bus is missing") }
        guard !captures.isEmpty else { throw UsageError(message: "--captures is missing") }
    }

    private mutating func takeFlag(_ option: String) throws(UsageError) -> Bool {
        switch option {
        case "--help", "-h": wantsHelp = true
        case "--manifest-sha256": hashesFiles = true
        case "--auto-confirm": confirmation = .automatic
        case "--exit-with-stdin": exitsWithStdin = true
        default:
            guard option.hasPrefix("--") else { throw UsageError(message: "\(option) is not an option") }
            return false
        }
        return true
    }

    private mutating func take(_ option: String, _ value: String) throws(UsageError) {
        switch option {
        case "--bus": bus = value
        case "--adapter":
            guard value.hasPrefix("hci"), UInt16(value.dropFirst(3)) != nil else {
                throw UsageError(message: "\(value) is not an adapter such as hci1")
            }
            adapter = value
        case "--captures": captures.append(value)
        case "--serial": serial = value
        case "--recorders": recorders = try Self.number(option, value, 1...99)
        case "--address":
            guard Self.isAddress(value) else { throw UsageError(message: "\(value) is not a device address") }
            address = value.uppercased()
        case "--adapters": adapters = try Self.number(option, value, 1...9)
        case "--mtu": mtu = UInt16(try Self.number(option, value, 23...517))
        case "--fault": faults.append(value)
        case "--state": stateFile = value
        case "--pairing": pairing = try Self.choice(option, value)
        case "--passkey": passkey = UInt32(try Self.number(option, value, 0...999_999))
        case "--confirm": confirmation = try Self.choice(option, value)
        case "--bluez": version = try Self.choice(option, value)
        case "--battery": battery = UInt8(try Self.number(option, value, 0...100))
        default: throw UsageError(message: "there is no option \(option)")
        }
    }

    private static func number(
        _ option: String, _ value: String, _ range: ClosedRange<Int>
    ) throws(UsageError) -> Int {
        guard let number = Int(value), range.contains(number) else {
            throw UsageError(message: "\(option) is a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func choice<Choice: CaseIterable & RawRepresentable>(
        _ option: String, _ value: String
    ) throws(UsageError) -> Choice where Choice.RawValue == String {
        guard let choice = Choice(rawValue: value) else {
            let names = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError(message: "\(option) is one of \(names)")
        }
        return choice
    }

    private static func isAddress(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 6 && parts.allSatisfy { $0.utf8.count == 2 && UInt8($0, radix: 16) != nil }
    }

    static var help: String {
        let width = 44
        let faults = RecorderFaults.help.map { spelling, meaning in
            let gap = String(repeating: " ", count: max(1, width - spelling.count))
            return spelling.count < width - 2
                ? "  \(spelling)\(gap)\(meaning)"
                : "  \(spelling)\n  \(String(repeating: " ", count: width))\(meaning)"
        }
        return """
            Usage: celestia-recorder --bus ADDRESS --captures DIR [OPTION…]
                   celestia-recorder --adapter hciN --captures DIR [OPTION…]

            Simulates Celestia recorders behind an org.bluez of its own on a private message bus; or, as root, one
            recorder on the radio of an adapter, through bluetoothd. Prints one line "ready …" when they can be found,
            and ends when the bus goes.

              --bus ADDRESS          D-Bus address of the bus, such as unix:path=/tmp/bus (with --adapter: the system's)
              --adapter hciN         the adapter that becomes a recorder's
              --captures DIR         the folder to serve: one capture per sub-folder; again for further recorders
              --manifest-sha256      manifests name the SHA-256 of every file
              --state FILE           keep deletions, object identifiers and bonds over a restart
              --serial S             serial number of the first recorder (CEL-0001)
              --battery N            battery level in percent (87)
              --pairing METHOD       numeric, passkey or just-works (numeric)
              --confirm HOW          whether the recorder's user confirms: auto, manual or refuse (auto)
              --auto-confirm         the same as --confirm auto
              --fault FAULT          something that goes wrong, see below; again for more
              --exit-with-stdin      end when standard input closes

            Without --adapter:
              --recorders N          how many recorders (1)
              --address A            device address of the first recorder (C0:FF:EE:00:00:01)
              --adapters N           how many adapters, from hci0 (1)
              --mtu N                ATT MTU, 23 to 517 (247)
              --passkey N            the number that the recorder shows (another one each time)
              --bluez VERSION        whose behaviour to show: 5.66 or 5.82 (5.66)

            Faults (also at run time: life.ccdw.CelestiaSim1 /sim SetFault):
            \(faults.joined(separator: "\n"))

            """
    }
}
