import Control

/// Where the space goes. Pure.
struct StorageView {
    let layout: Layout

    init(_ layout: Layout) {
        self.layout = layout
    }

    func lines(_ report: StorageReportDocument) -> [String] {
        var entries: [(String, String)] = []
        if let disk = report.disk {
            entries.append(("Disk", Text.clean(disk.path)))
            entries.append(("Size", Units.bytes(disk.totalBytes)))
            entries.append(
                ("Free", "\(Units.bytes(disk.freeBytes)), \(Units.bytes(disk.reserveBytes)) in reserve"))
        }
        if let since = report.lowSince {
            entries.append(("Low", "since \(layout.moment(since)); no files are taken until there is room"))
        }
        if let misfit = report.misfit { entries.append(("Too large", Text.clean(misfit))) }
        entries.append(("Files here", Units.bytes(report.storedBytes)))
        entries.append(("  to upload", Units.bytes(report.unsentBytes)))
        if report.keptBytes > 0 {
            let next = report.nextRelease.map { ", the next go \(layout.until($0))" } ?? ""
            entries.append(("  kept", "\(Units.bytes(report.keptBytes)) that the cloud has\(next)"))
        }
        if report.cancelledBytes > 0 {
            entries.append(
                ("  cancelled", "\(Units.bytes(report.cancelledBytes)); celestiad session purge removes them")
            )
        }
        if report.damagedFiles > 0 {
            entries.append(
                ("Damaged", "\(Units.count(report.damagedFiles, "file")); celestiad sessions --attention"))
        }
        entries.append(("Database", Units.bytes(report.databaseBytes)))
        if report.ballastBytes > 0 { entries.append(("Ballast", Units.bytes(report.ballastBytes))) }
        for path in report.setAside {
            entries.append(
                (
                    "Degraded",
                    path.contains(".missing-")
                        ? "the database was missing and was made anew; a note of it is \(Text.clean(path))"
                        : "a damaged database is kept as \(Text.clean(path))"
                ))
        }
        for file in report.refused ?? [] {
            entries.append(("Not taken", "\(Text.clean(file.path)): \(Text.clean(file.reason))"))
        }
        for path in report.undescribed ?? [] {
            entries.append(("Unreadable", "a session of which only the files are left: \(Text.clean(path))"))
        }
        return Fields(layout).lines(entries)
    }
}
