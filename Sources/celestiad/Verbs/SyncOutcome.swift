import Control
import FoundationEssentials
import Gateway

/// How far a sync has come: what is left, why, and whether waiting for it makes sense. Pure.
///
/// | What is left | Waited for |
/// |---|---|
/// | a recorder that is absent, or whose link is tried again | to the end: it comes and goes |
/// | a recorder of which a sync has left something out | no |
/// | a recorder whose bond is lost; no adapter, it is off or blocked; no bluetoothd; no space | no: the user has to act |
/// | a session that can be sent, or is tried again in time; a cloud that cannot be reached | to the end |
/// | a session with a hold, or that is tried again later than that; no login | no |
struct SyncOutcome {
    private struct Remark {
        let text: String
        /// Whether it may still come right by itself in the time that there is.
        let isPending: Bool
    }

    /// When the sync began and when the patience ends, by the daemon's clock.
    let start: Date
    let end: Date
    /// The only recorder that is meant; nil: all.
    let recorder: String?
    private var all: [Remark] = []
    private var isDiskLow = false

    init(_ status: StatusDocument, start: Date, end: Date, recorder: String? = nil) {
        self.start = start
        self.end = end
        self.recorder = recorder
        noteRecorders(status)
        noteUploads(status)
        if !status.transfers.isEmpty, !all.contains(where: \.isPending) {
            all.append(Remark(text: "files are on their way", isPending: true))
        }
    }

    /// Whether there is nothing left that waiting could bring.
    var isOver: Bool { !all.contains(where: \.isPending) }

    /// Why not everything is in the cloud; empty: it is.
    var remarks: [String] { all.map(\.text) }

    /// What the verb ends with when it is over.
    var exitCode: ExitCode { all.isEmpty ? .success : isDiskLow ? .diskLow : .partial }

    // MARK: Recorders

    private mutating func noteRecorders(_ status: StatusDocument) {
        let open = status.recorders.filter { (recorder == nil || $0.id == recorder) && !isSynced($0) }
        guard !open.isEmpty else { return }
        if let trouble = status.health.first(where: { HealthItem.bluetoothTroubles.contains($0.code) }) {
            return note(trouble.text, trouble.hint, isPending: false)
        }
        let disk = status.health.first { $0.code == "disk_low" }
        for one in open {
            if let disk, one.link.state == "backing_off", isNews(one.link) {
                isDiskLow = true
                note(
                    "\(Text.clean(one.name ?? one.id)): \(Text.clean(disk.text))", disk.hint, isPending: false
                )
            } else {
                note(one)
            }
        }
    }

    /// Whether the sync itself has found it out: it was not so before.
    private func isNews(_ link: LinkDocument) -> Bool { link.since.map { $0 >= start } ?? false }

    private func isSynced(_ recorder: RecorderDocument) -> Bool {
        guard let synced = recorder.lastSync, synced >= start else { return false }
        return (recorder.pendingCaptures ?? 0) == 0
    }

    private mutating func note(_ recorder: RecorderDocument) {
        let name = Text.clean(recorder.name ?? recorder.id)
        let link = recorder.link
        if let short = recorder.incompleteSync, short >= start {
            return note(
                "\(name): not everything could be pulled: \(Text.clean(recorder.lastError ?? "a file was left out"))",
                "celestiad device \(Terminal.shellWord(Text.clean(recorder.id))) says more", isPending: false)
        }
        let reason = link.reason.map { Text.clean($0) }
        switch link.state {
        case "absent":
            note("\(name): \(reason ?? "it is not in reach")", "keep it near and awake", isPending: true)
        case "backing_off" where link.nextTry == nil:
            note(
                "\(name): \(reason ?? "the link failed")",
                "celestiad pair --device \(Terminal.shellWord(Text.clean(recorder.id))) --repair",
                isPending: !isNews(link))
        case "backing_off":
            note("\(name): \(reason ?? "the link failed")", "it is tried again by itself", isPending: true)
        default:
            let state = Words.plain(link.state)
            note("\(name): not everything on it is in the queue yet (\(state))", nil, isPending: true)
        }
    }

    // MARK: Uploads

    private mutating func noteUploads(_ status: StatusDocument) {
        let queue = status.queue
        for wait in queue.waits ?? [] { note(wait, queue) }
        let failed = sessions("failed_terminal", in: queue)
        if failed > 0 {
            note(
                "\(Units.count(failed, "session")) cannot be uploaded",
                "celestiad sessions --state failed_terminal says why", isPending: false)
        }
        let ready = queue.readySessions ?? (queue.pendingAssets > 0 ? 1 : 0)
        if ready > 0 { noteReady(status) }
        let drafts = sessions("draft", in: queue)
        if drafts > 0, recorder == nil, !all.contains(where: \.isPending) {
            note(
                "\(Units.count(drafts, "session")) \(drafts == 1 ? "is" : "are") not complete yet",
                "the recorder has the rest; celestiad devices shows what is paired", isPending: false)
        }
    }

    private func sessions(_ state: String, in queue: QueueDocument) -> Int {
        queue.states.filter { $0.state == state }.reduce(0) { $0 + $1.sessions }
    }

    private mutating func note(_ wait: WaitDocument, _ queue: QueueDocument) {
        let isInTime = wait.until.map { $0 <= end } ?? false
        // Whether there is storage is asked at the beginning of every sync.
        let isBeingAsked = wait.cause == "quota" && queue.quotaAskedAt.map { $0 < start } ?? true
        note(Text.clean(wait.text), wait.hint, isPending: !wait.needsUser && (isInTime || isBeingAsked))
    }

    private mutating func noteReady(_ status: StatusDocument) {
        let queue = status.queue
        let files =
            queue.pendingAssets > 0
            ? "\(Units.count(queue.pendingAssets, "file")) still to upload" : "not all metadata is uploaded"
        guard status.account.state == "logged_in" else {
            return note("\(files): not logged in", "celestiad login", isPending: false)
        }
        note(files + (queue.reason.map { ": \(Text.clean($0))" } ?? ""), nil, isPending: true)
    }

    private mutating func note(_ text: String, _ hint: String?, isPending: Bool) {
        all.append(Remark(text: Self.line(text, hint), isPending: isPending))
    }

    private static func line(_ text: String, _ hint: String?) -> String {
        text + (hint.map { " → \(Text.clean($0))" } ?? "")
    }
}
