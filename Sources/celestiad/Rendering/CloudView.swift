import Control

/// What the cloud answered. Pure.
struct CloudView {
    let layout: Layout
    private static let shortID = 8
    private static let barWidth = 24
    /// Below this the whole seconds of an HTTP date say nothing.
    private static let noticeableSkew: Int64 = 2000

    init(_ layout: Layout) {
        self.layout = layout
    }

    func lines(_ status: CloudStatusDocument) -> [String] {
        var entries = [("Cloud", status.host), ("State", state(status))]
        if let hint = status.hint, status.state != "ok" { entries.append(("To do", hint)) }
        entries.append(("Account", account(status.account)))
        if let quota = status.quota { entries.append(("Storage", bar(quota))) }
        if let skew = status.clockSkewMs { entries.append(("Clock", clock(skew))) }
        return Fields(layout).lines(entries)
    }

    private func state(_ status: CloudStatusDocument) -> String {
        guard status.state == "ok" else {
            return Words.plain(status.state) + (status.message.map { ": \($0)" } ?? "")
        }
        return "ok" + (status.roundTripMs.map { ", answered in \($0) ms" } ?? "")
    }

    private func account(_ account: AccountDocument) -> String {
        let name = account.name.map { " as \($0)" } ?? ""
        return Words.plain(account.state) + name + (account.action.map { " → \($0)" } ?? "")
    }

    private func bar(_ quota: QuotaDocument) -> String {
        guard quota.totalBytes > 0 else {
            return "\(Units.bytes(max(0, quota.usedBytes))) used, no limit is told"
        }
        let percent = Units.percent(quota.usedBytes, of: quota.totalBytes)
        let filled = percent * Self.barWidth / 100
        let bar =
            String(repeating: "█", count: filled) + String(repeating: "░", count: Self.barWidth - filled)
        let left = quota.remainingBytes > 0 ? "\(Units.bytes(quota.remainingBytes)) left" : "full"
        return "\(bar) \(percent) % of \(Units.bytes(quota.totalBytes)) used, \(left)"
    }

    private func clock(_ skew: Int64) -> String {
        guard abs(skew) >= Self.noticeableSkew else { return "agrees with the cloud's" }
        let span = Units.duration(abs(skew) / 1000)
        return "the hub is \(span) \(skew > 0 ? "ahead of" : "behind") the cloud → timedatectl status"
    }

    func table(_ sessions: [CloudSessionDocument]) -> [String] {
        var table = Table(columns: [
            .init(title: "ID"), .init(title: "CAPTURED", dropped: 5),
            .init(title: "LENGTH", isNumeric: true, dropped: 2),
            .init(title: "TITLE", isFlexible: true, dropped: 6),
            .init(title: "FILES", isNumeric: true, dropped: 4),
            .init(title: "SIZE", isNumeric: true, dropped: 3),
            .init(title: "REVISION", isNumeric: true, dropped: 1),
            .init(title: "FROM HERE"),
        ])
        table.rows = sessions.map { session in
            [
                Text.clean(String(session.id.prefix(Self.shortID))),
                session.startedAt.map(layout.moment) ?? "–",
                session.durationMs > 0 ? Units.playingTime(milliseconds: session.durationMs) : "–",
                session.deletedAt.map { "deleted \(layout.ago($0))" } ?? Text.clean(session.title),
                "\(session.files)", Units.bytes(session.bytes), "\(session.revision)",
                session.session.map { Text.clean(String($0.prefix(Self.shortID))) } ?? "–",
            ]
        }
        return table.lines(layout)
    }

    func lines(_ profile: ProfileDocument) -> [String] {
        let optional: [(String, String?)] = [
            ("E-mail", profile.email), ("Phone", profile.phoneNumber), ("Picture", profile.avatarUrl),
            ("Registered", profile.registeredAt.map(layout.moment)),
            ("Changed", profile.updatedAt.map(layout.moment)),
        ]
        return Fields(layout).lines(
            [("User name", profile.username)]
                + optional.compactMap { name, value in value.map { (name, $0) } }
                + [("Account", profile.id), ("At", profile.host)])
    }
}
