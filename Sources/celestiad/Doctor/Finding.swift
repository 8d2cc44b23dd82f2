import FoundationEssentials

/// What `celestiad doctor` looks at, in the order in which it says it.
enum Check: String, Sendable, Codable, CaseIterable {
    case configuration, service, dbus, bluetoothd, adapter, rfkill, autosuspend, namespace
    case clock, disk, cloud, credentials, queue, recorders, folder, mqtt
}

/// What one look came to.
struct Finding: Sendable, Hashable, Codable {
    enum State: String, Sendable, Codable, CaseIterable {
        case ok, warn, fail
        /// It could not be looked, and the text says why.
        case skipped
    }

    var check: Check
    var state: State
    /// What was found.
    var text: String
    /// What to do about it, where no command does.
    var advice: String?
    /// The commands that mend it, to be typed one after the other.
    var fix: [String]?

    init(_ check: Check, _ state: State, _ text: String, advice: String? = nil, fix: [String] = []) {
        self.check = check
        self.state = state
        self.text = text
        self.advice = advice
        self.fix = fix.isEmpty ? nil : fix
    }
}

/// What `celestiad doctor --json` prints.
struct DoctorDocument: Sendable, Hashable, Codable {
    /// How many findings there are of each state.
    struct Counts: Sendable, Hashable, Codable {
        var ok: Int
        var warn: Int
        var fail: Int
        var skipped: Int
    }

    var time: Date
    /// The version of the program that looked.
    var version: String
    /// The worst of the findings: `ok`, `warn` or `fail`; open.
    var state: String
    var counts: Counts
    var findings: [Finding]

    init(time: Date, version: String, findings: [Finding]) {
        func count(_ state: Finding.State) -> Int { findings.count { $0.state == state } }
        self.time = time
        self.version = version
        self.findings = findings
        counts = Counts(ok: count(.ok), warn: count(.warn), fail: count(.fail), skipped: count(.skipped))
        state = counts.fail > 0 ? "fail" : counts.warn > 0 ? "warn" : "ok"
    }
}
