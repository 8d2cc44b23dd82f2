/// A version of BlueZ, which has two numbers.
struct BluetoothdVersion: Comparable, CustomStringConvertible {
    let major: Int
    let minor: Int

    /// That of Debian 12.
    static let oldestTested = BluetoothdVersion(5, 66)

    init(_ major: Int, _ minor: Int) {
        (self.major, self.minor) = (major, minor)
    }

    /// The upstream part of a package's version, such as `5.66-1+deb12u2`.
    init?(_ text: String) {
        let numbers = text.prefix { $0.isASCII && ($0.isNumber || $0 == ".") }.split(separator: ".")
        guard numbers.count >= 2, let major = Int(numbers[0]), let minor = Int(numbers[1]) else { return nil }
        self.init(major, minor)
    }

    var description: String { "\(major).\(minor)" }

    static func < (left: BluetoothdVersion, right: BluetoothdVersion) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}

/// A known fault of bluetoothd that concerns what celestiad does with it.
struct BluetoothdFault {
    /// The first version that has it; nil: all before `fixed`.
    var since: BluetoothdVersion?
    /// The first that has it no more.
    let fixed: BluetoothdVersion
    let text: String
    /// Whether nothing goes with it.
    var isGrave = false
    /// Whether bluetoothd may end by it.
    var mayEndIt = false

    func concerns(_ version: BluetoothdVersion) -> Bool {
        version < fixed && since.map { $0 <= version } ?? true
    }

    /// With where each is told.
    static let all = [
        BluetoothdFault(
            since: BluetoothdVersion(5, 67), fixed: BluetoothdVersion(5, 70),
            // Commit 670f0d0f6.
            text: "versions 5.67 to 5.69 do not confirm indications, so that no file can be asked for",
            isGrave: true),
        BluetoothdFault(
            fixed: BluetoothdVersion(5, 84),
            // Commit 476ae809a, bluez/bluez#1376 and #1383.
            text:
                "a subscription is never answered when the link goes meanwhile (bluez #1376), and may crash it",
            mayEndIt: true),
        BluetoothdFault(
            fixed: BluetoothdVersion(5, 71),
            text: "some discovery filters corrupt its memory (mended in 5.71)", mayEndIt: true),
        BluetoothdFault(
            fixed: BluetoothdVersion(5, 79),
            // Commit 6d55c7d7f.
            text: "pairing what is paired already takes the wrong radio (mended in 5.79)"),
    ]
}
