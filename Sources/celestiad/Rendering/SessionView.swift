import Control

/// Sessions: as a table, and one with its files. Pure.
struct SessionView {
    let layout: Layout
    /// As many digits of a UUID as tell sessions apart.
    private static let shortID = 8

    init(_ layout: Layout) {
        self.layout = layout
    }

    func table(_ sessions: [SessionDocument]) -> [String] {
        var table = Table(columns: [
            .init(title: "ID"), .init(title: "CAPTURED", dropped: 6),
            .init(title: "LENGTH", isNumeric: true, dropped: 2),
            .init(title: "TITLE", isFlexible: true, dropped: 5),
            .init(title: "RECORDER", isFlexible: true, dropped: 1),
            .init(title: "FILES", isNumeric: true, dropped: 4),
            .init(title: "SIZE", isNumeric: true, dropped: 3),
            .init(title: "STATE", isFlexible: true, minimum: 14),
        ])
        table.rows = sessions.map { session in
            [
                Text.clean(String(session.id.prefix(Self.shortID))),
                layout.moment(session.startedAt ?? session.createdAt),
                length(session) ?? "–",
                Text.clean(session.title ?? (session.salvaged ? "(salvaged)" : "–")),
                isImported(session) ? Table.nothing : Text.clean(session.recorder, limit: 40),
                "\(session.uploadedFiles)/\(session.files)",
                Units.bytes(session.bytes), state(session),
            ]
        }
        return table.lines(layout)
    }

    /// Imported files have this hub's own id for a recorder's, which says nothing.
    private func isImported(_ session: SessionDocument) -> Bool {
        session.source.map { $0 != "recorder" } ?? false
    }

    /// nil when it is not known: what a recorder does not say is stored as nothing.
    private func length(_ session: SessionDocument) -> String? {
        session.durationMs.flatMap { $0 > 0 ? Units.playingTime(milliseconds: $0) : nil }
    }

    private func state(_ session: SessionDocument) -> String {
        let next = session.nextTry.map { ", next try \(layout.until($0))" } ?? ""
        return Words.plain(session.state) + (session.reason.map { ": \(Text.clean($0))" } ?? "") + next
    }

    func lines(_ session: SessionDocument) -> [String] {
        var entries = [("Session", session.id)]
        entries.append(
            isImported(session)
                ? ("Source", "files imported here (\(Words.plain(session.source ?? "")))")
                : ("Recorder", session.recorder))
        if let title = session.title { entries.append(("Title", title)) }
        if session.salvaged { entries.append(("Origin", "salvaged: no manifest named its files")) }
        if let started = session.startedAt { entries.append(("Captured", layout.moment(started))) }
        if let length = length(session) { entries.append(("Length", length)) }
        entries.append(("State", state(session)))
        for hold in session.holds ?? [] { entries.append(("Waits", waits(hold))) }
        if session.ambiguous == true {
            entries.append(
                ("In doubt", "whether the cloud has the last request; it is asked before anything is sent"))
        }
        if let error = session.lastError { entries.append(("Last error", Text.clean(error))) }
        if let retries = session.retries, retries > 0 {
            entries.append(("Failures", "\(retries) since it last went on"))
        }
        if let host = session.host { entries.append(("For", Text.clean(host))) }
        if let from = session.migratedFrom { entries.append(("Moved from", Text.clean(from))) }
        if let to = session.migratedTo { entries.append(("Moved to", Text.clean(to))) }
        if let cloud = session.cloud { entries.append(("In the cloud", cloud)) }
        entries.append(("Queued", layout.ago(session.createdAt)))
        entries.append(("Changed", layout.ago(session.updatedAt)))
        entries.append(("Size", "\(Units.bytes(session.bytes)) in \(Units.count(session.files, "file"))"))
        var lines = Fields(layout).lines(entries)
        if let assets = session.assets, !assets.isEmpty { lines += [""] + files(assets) }
        return lines
    }

    private func waits(_ hold: HoldDocument) -> String {
        let detail = hold.detail.map { " (\(Text.clean($0)))" } ?? ""
        let until = hold.until.map { ", at the latest \(layout.until($0))" } ?? ""
        return "\(Words.plain(hold.reason))\(detail), ends with: \(Text.clean(hold.clearedBy))\(until)"
    }

    private func files(_ assets: [AssetDocument]) -> [String] {
        var table = Table(columns: [
            .init(title: "FILE", isFlexible: true, keepsEnd: true), .init(title: "KIND", dropped: 2),
            .init(title: "SIZE", isNumeric: true, dropped: 3),
            .init(title: "STATE", isFlexible: true, minimum: 14), .init(title: "SHA-256", dropped: 1),
            .init(title: "CLOUD"),
        ])
        table.rows = assets.map { asset in
            [
                Text.clean(asset.name), Words.plain(asset.kind), Units.bytes(asset.bytes), state(asset),
                asset.sha256.map { Text.clean(String($0.prefix(16))) } ?? "–", confirmation(asset),
            ]
        }
        return table.lines(layout)
    }

    private func state(_ asset: AssetDocument) -> String {
        let progress: String? =
            switch asset.state {
            case "pulling": "\(Units.percent(asset.pulledBytes, of: asset.bytes)) %"
            case "uploading": "\(Units.percent(asset.uploadedBytes, of: asset.bytes)) %"
            default: asset.reason.map { Text.clean($0) }
            }
        let state =
            switch asset.state {
            case "released": "uploaded, local copy removed"
            case "removed": "removed, not uploaded"
            default: Words.plain(asset.state)
            }
        return state + (progress.map { " (\($0))" } ?? "")
    }

    /// Never more than was proven: equal only where both hashes are known.
    private func confirmation(_ asset: AssetDocument) -> String {
        guard let confirmed = asset.confirmedSha256 else { return "–" }
        guard let own = asset.sha256 else { return "unknown" }
        return confirmed == own ? "same" : "DIFFERENT"
    }
}
