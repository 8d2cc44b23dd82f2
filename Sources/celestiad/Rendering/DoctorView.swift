import Control

/// What the doctor found: a line each, worst to be seen at a glance, and below it what to do. Pure.
struct DoctorView {
    let layout: Layout
    private static let stateWidth = 9
    private static let checkWidth = 15
    private var indent: Int { Self.stateWidth + Self.checkWidth }

    init(_ layout: Layout) {
        self.layout = layout
    }

    func lines(_ document: DoctorDocument) -> [String] {
        document.findings.flatMap(lines) + ["", summary(document)]
    }

    private func lines(_ finding: Finding) -> [String] {
        let width = max(24, layout.width - indent)
        let head =
            layout.paint(
                Text.pad(finding.state.rawValue.uppercased(), to: Self.stateWidth), color(finding.state))
            + Text.pad(finding.check.rawValue, to: Self.checkWidth)
        let space = String(repeating: " ", count: indent)
        let text = Text.wrap(Text.clean(finding.text, limit: 1000), width: width)
        var lines = text.enumerated().map { ($0 == 0 ? head : space) + $1 }
        if let advice = finding.advice {
            lines += Text.wrap("→ " + Text.clean(advice, limit: 1000), width: width).map { space + $0 }
        }
        // Whole, however long: they are copied.
        lines += (finding.fix ?? []).map { space + "→ " + Text.clean($0, limit: 1000) }
        return lines
    }

    private func color(_ state: Finding.State) -> Layout.Color {
        switch state {
        case .ok: .green
        case .warn: .yellow
        case .fail: .red
        case .skipped: .dim
        }
    }

    private func summary(_ document: DoctorDocument) -> String {
        let counts = document.counts
        let parts = [
            (counts.fail, "failed"), (counts.warn, "to look after"), (counts.ok, "ok"),
            (counts.skipped, "skipped"),
        ]
        let text = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return layout.paint(text, counts.fail > 0 ? .red : counts.warn > 0 ? .yellow : .green)
    }
}
