import Control

/// What a scan has found, nearest first. Pure.
struct ScanView {
    let layout: Layout

    init(_ layout: Layout) {
        self.layout = layout
    }

    /// The order of the list and of its numbers.
    static func sorted(_ results: [ScanResultDocument]) -> [ScanResultDocument] {
        results.sorted { left, right in
            let (near, far) = (left.rssi ?? .min, right.rssi ?? .min)
            return near == far ? left.address < right.address : near > far
        }
    }

    func table(_ results: [ScanResultDocument], numbered: Bool = false) -> [String] {
        let number = numbered ? [Table.Column(title: "", isNumeric: true)] : []
        var table = Table(
            columns: number + [
                .init(title: "ADDRESS"), .init(title: "NAME", isFlexible: true, keepsEnd: true),
                .init(title: "MODEL", isFlexible: true, dropped: 1, isOptional: true),
                .init(title: "SIGNAL", isNumeric: true, dropped: 2, isOptional: true),
                .init(title: "MODE", dropped: 3, isOptional: true), .init(title: "STATE", isFlexible: true),
            ])
        table.rows = Self.sorted(results).enumerated().map { index, result in
            (numbered ? ["\(index + 1)"] : []) + [
                Text.clean(result.address, limit: 40), Text.clean(result.name ?? Table.nothing),
                Text.clean(result.model ?? Table.nothing),
                result.rssi.map { "\($0) dBm" } ?? Table.nothing,
                result.pairing.map { $0 ? "pairing" : "normal" } ?? Table.nothing,
                result.paired
                    ? "paired" + (result.recorder.map { " as \(Text.clean($0, limit: 40))" } ?? "") : "new",
            ]
        }
        return table.lines(layout)
    }
}
