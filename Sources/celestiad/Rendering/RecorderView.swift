import Control

/// Recorders: as a table, and one in full. Pure.
struct RecorderView {
    let layout: Layout

    init(_ layout: Layout) {
        self.layout = layout
    }

    /// What is known of one recorder, in paragraphs of pieces.
    func paragraphs(_ recorder: RecorderDocument) -> [[String]] {
        [
            identity(recorder), values(recorder), link(recorder),
            recorder.lastError.map { [Text.clean($0)] } ?? [],
        ]
    }

    private func identity(_ recorder: RecorderDocument) -> [String] {
        var pieces = [Text.clean(recorder.id)]
        if let name = recorder.name { pieces.append("\"\(Text.clean(name))\"") }
        let make = [recorder.manufacturer, recorder.model].compactMap { $0 }.map { Text.clean($0) }
        if !make.isEmpty { pieces.append(make.joined(separator: " ")) }
        if let firmware = recorder.firmware { pieces.append("firmware \(Text.clean(firmware))") }
        if let hardware = recorder.hardware { pieces.append("hardware \(Text.clean(hardware))") }
        if recorder.account == "unbound" { pieces.append("removed from the account, not read") }
        return pieces
    }

    private func values(_ recorder: RecorderDocument) -> [String] {
        var pieces: [String] = []
        if let battery = recorder.battery {
            pieces.append("battery \(battery.percent) % (\(layout.ago(battery.measuredAt)))")
        }
        if let storage = recorder.storage {
            let sizes = "\(Units.bytes(storage.freeBytes)) of \(Units.bytes(storage.totalBytes)) free"
            pieces.append("storage \(sizes) (\(layout.ago(storage.measuredAt)))")
        }
        if recorder.recording == true { pieces.append("recording") }
        if let pending = recorder.pendingCaptures, pending > 0 {
            pieces.append("\(Units.count(pending, "capture")) to pull")
        }
        return pieces
    }

    private func link(_ recorder: RecorderDocument) -> [String] {
        var pieces = ["link \(Words.plain(recorder.link.state))"]
        if let reason = recorder.link.reason { pieces.append(Text.clean(reason)) }
        if let next = recorder.link.nextTry { pieces.append("next try \(layout.until(next))") }
        if let plane = recorder.dataPlane { pieces.append("by \(Words.dataPlane(plane))") }
        if let seen = recorder.lastSeen { pieces.append("seen \(layout.ago(seen))") }
        pieces.append(recorder.lastSync.map { "synced \(layout.ago($0))" } ?? "never synced")
        if let set = recorder.clockSet { pieces.append("clock set \(layout.ago(set))") }
        return pieces
    }

    func table(_ recorders: [RecorderDocument]) -> [String] {
        var table = Table(columns: [
            .init(title: "ID"), .init(title: "NAME", isFlexible: true, keepsEnd: true),
            .init(title: "MODEL", isFlexible: true, dropped: 2),
            .init(title: "FIRMWARE", dropped: 1), .init(title: "BATTERY", isNumeric: true, dropped: 4),
            .init(title: "FREE", isNumeric: true, dropped: 3),
            .init(title: "LINK"), .init(title: "SEEN", dropped: 5),
        ])
        table.rows = recorders.map { recorder in
            [
                Text.clean(recorder.id, limit: 40), Text.clean(recorder.name ?? "–"),
                Text.clean(recorder.model ?? "–"), Text.clean(recorder.firmware ?? "–", limit: 24),
                recorder.battery.map { "\($0.percent) %" } ?? "–",
                recorder.storage.map { Units.bytes($0.freeBytes) } ?? "–", Words.plain(recorder.link.state),
                recorder.lastSeen.map(layout.ago) ?? "never",
            ]
        }
        return table.lines(layout)
    }

    private func account(_ recorder: RecorderDocument) -> String? {
        switch recorder.account {
        case "unbound": "removed; nothing is read from it until: celestiad device bind"
        case "waiting": "not told yet"
        case "bound": "knows it"
        default: recorder.account
        }
    }

    /// One recorder in full, a name and a value on each line.
    func lines(_ recorder: RecorderDocument) -> [String] {
        let optional: [(String, String?)] = [
            ("Name", recorder.name), ("Own name", recorder.ownName), ("Account", account(recorder)),
            ("Manufacturer", recorder.manufacturer), ("Model", recorder.model),
            ("Hardware", recorder.hardware), ("Firmware", recorder.firmware), ("Address", recorder.address),
            ("Adapter", recorder.adapter), ("Paired by", recorder.security.map(Words.plain)),
        ]
        var entries =
            [("Recorder", recorder.id)] + optional.compactMap { name, value in value.map { (name, $0) } }
        if let battery = recorder.battery {
            entries.append(("Battery", "\(battery.percent) % (\(layout.ago(battery.measuredAt)))"))
        }
        if let storage = recorder.storage {
            let sizes = "\(Units.bytes(storage.freeBytes)) of \(Units.bytes(storage.totalBytes)) free"
            entries.append(("Storage", "\(sizes) (\(layout.ago(storage.measuredAt)))"))
        }
        if let pending = recorder.pendingCaptures {
            entries.append(("To pull", Units.count(pending, "capture")))
        }
        if let recording = recorder.recording { entries.append(("Recording", recording ? "yes" : "no")) }
        let state = [
            Words.plain(recorder.link.state), recorder.link.reason,
            recorder.link.nextTry.map { "next try \(layout.until($0))" },
        ]
        entries.append(("Link", state.compactMap { $0 }.joined(separator: " · ")))
        if let rssi = recorder.link.rssi { entries.append(("Signal", "\(rssi) dBm")) }
        if let plane = recorder.dataPlane {
            let reason = recorder.dataPlaneReason.map { " (not by the channel: \(Text.clean($0)))" } ?? ""
            entries.append(("Data by", Words.dataPlane(plane) + reason))
        }
        let times = [
            ("Seen", recorder.lastSeen), ("Synced", recorder.lastSync), ("Clock set", recorder.clockSet),
        ]
        entries += times.map { name, date in (name, date.map(layout.ago) ?? "never") }
        if let error = recorder.lastError { entries.append(("Last error", error)) }
        return Fields(layout).lines(entries)
    }
}

/// Names, and values beside them. Pure.
struct Fields {
    let layout: Layout
    private static let label = 14

    init(_ layout: Layout) {
        self.layout = layout
    }

    func lines(_ entries: [(String, String)]) -> [String] {
        entries.flatMap { name, value in
            let lines = Text.wrap(
                Text.clean(value, limit: 1000), width: max(20, layout.width - Self.label))
            return lines.enumerated().map {
                layout.paint(Text.pad($0 == 0 ? name : "", to: Self.label), .bold) + $1
            }
        }
    }
}
