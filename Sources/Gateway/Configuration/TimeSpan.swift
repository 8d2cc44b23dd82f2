/// Times as systemd writes them, one number and one unit: `90s`, `15min`, `2h`, `30d`; no unit means seconds.
enum TimeSpan {
    private static let units: [(suffix: String, seconds: Int64)] = [
        ("min", 60), ("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("", 1),
    ]

    static func parse(_ text: String) -> Duration? {
        for unit in units where text.hasSuffix(unit.suffix) {
            guard let number = Int64(text.dropLast(unit.suffix.count)), (0...1_000_000).contains(number)
            else {
                continue
            }
            return .seconds(number * unit.seconds)
        }
        return nil
    }
}
