import Control
import FoundationEssentials

/// The daemon's state on one screen: every value with its age, then what is wrong and what to do. Pure.
struct StatusView {
    let layout: Layout
    private static let label = 12
    private var width: Int { max(20, layout.width - Self.label) }

    init(_ layout: Layout) {
        self.layout = layout
    }

    func lines(_ status: StatusDocument) -> [String] {
        let uptime = Units.duration(Int64(layout.now.timeIntervalSince(status.daemon.startedAt)))
        var lines = block("celestiad", [[Text.clean(status.daemon.version), "up \(uptime)"]])
        lines += account(status.account)
        lines += adapters(status.adapters)
        lines +=
            status.recorders.isEmpty
            ? block("Recorder", [["none paired"], ["→ celestiad pair"]])
            : status.recorders.flatMap { block("Recorder", RecorderView(layout).paragraphs($0)) }
        lines += queue(status.queue)
        lines += status.disk.map(disk) ?? []
        for (index, line) in ProgressView(layout: layout, indent: Self.label).lines(status.transfers)
            .enumerated()
        {
            lines.append(head(index == 0 ? "Transfer" : "") + line)
        }
        return lines + health(status.health)
    }

    private func head(_ label: String) -> String {
        layout.paint(Text.pad(label, to: Self.label), .bold)
    }

    /// A label and paragraphs of pieces beside it.
    private func block(_ label: String, _ paragraphs: [[String]]) -> [String] {
        let lines = paragraphs.filter { !$0.isEmpty }.flatMap {
            Text.flow($0, separator: " · ", width: width)
        }
        return lines.enumerated().map { head($0 == 0 ? label : "") + $1 }
    }

    private func account(_ account: AccountDocument) -> [String] {
        var pieces: [String] = []
        if let name = account.name {
            pieces.append(Text.clean(name) + (account.host.map { " at " + Text.clean($0) } ?? ""))
        } else if let host = account.host {
            pieces.append(Text.clean(host))
        }
        pieces.append(Words.plain(account.state))
        if let since = account.since { pieces.append("since \(layout.moment(since))") }
        return block("Account", [pieces, account.action.map { ["→ " + Text.clean($0)] } ?? []])
    }

    private func adapters(_ adapters: [AdapterDocument]) -> [String] {
        guard !adapters.isEmpty else { return block("Adapter", [["none"]]) }
        return adapters.flatMap { adapter in
            var pieces = ["\(Text.clean(adapter.name)) \(Text.clean(adapter.address))"]
            pieces.append(adapter.powered ? "on" : "off")
            let state = adapter.reason.map { Text.clean($0) } ?? Words.plain(adapter.state)
            if state != "idle", state != pieces.last { pieces.append(state) }
            return block("Adapter", [pieces])
        }
    }

    private func queue(_ queue: QueueDocument) -> [String] {
        var pieces: [String] = []
        if queue.pendingAssets == 0 {
            pieces.append("nothing waits")
        } else {
            let files = Units.count(queue.pendingAssets, "file")
            pieces.append("\(files), \(Units.bytes(queue.pendingBytes)) to upload")
        }
        if let oldest = queue.oldestPending { pieces.append("oldest from \(layout.ago(oldest))") }
        if let next = queue.nextTry { pieces.append("next try \(layout.until(next))") }
        if let reason = queue.reason { pieces.append(Text.clean(reason)) }
        let states = queue.states.map { "\(Words.plain($0.state)) \($0.sessions)" }
        return block("Queue", [pieces, states])
    }

    private func disk(_ disk: DiskDocument) -> [String] {
        var pieces = ["\(Units.bytes(disk.freeBytes)) of \(Units.bytes(disk.totalBytes)) free"]
        pieces.append("\(Units.bytes(disk.reserveBytes)) kept free")
        if disk.state != "ok" { pieces.append(Words.plain(disk.state)) }
        pieces.append(Text.clean(disk.path))
        return block("Disk", [pieces])
    }

    /// What is wrong, the last of the lines.
    func health(_ items: [HealthItem]) -> [String] {
        guard !items.isEmpty else { return [head("Health") + layout.paint("all is well", .green)] }
        var lines: [String] = []
        for item in items {
            let color: Layout.Color =
                item.severity == "error" ? .red : item.severity == "warning" ? .yellow : .dim
            let since = item.since.map { " (\(layout.ago($0)))" } ?? ""
            let text = Text.wrap(
                "\(Words.plain(item.severity)): \(Text.clean(item.text))\(since)", width: width)
            let hint = item.hint.map { Text.wrap("→ \(Text.clean($0))", width: width) } ?? []
            for line in text.map({ layout.paint($0, color) }) + hint {
                lines.append(head(lines.isEmpty ? "Health" : "") + line)
            }
        }
        return lines
    }
}

/// Open enumerations as words.
enum Words {
    static func plain(_ value: String) -> String {
        Text.clean(value, limit: 40).replacing("_", with: " ")
    }

    static func leg(_ value: String) -> String {
        switch value {
        case "device_to_hub": "device→hub"
        case "hub_to_cloud": "hub→cloud"
        case "cloud_to_here": "cloud→here"
        default: plain(value)
        }
    }

    static func dataPlane(_ value: String) -> String {
        switch value {
        case "coc": "L2CAP CoC"
        case "notification": "notifications"
        default: plain(value)
        }
    }
}
