package import DBus

/// What the daemon offers to its users. `ControlServer` puts it on the bus; callers are authorised before they get here.
///
/// Every member throws a `ControlError` whose message and hint are shown to the user as they are.
package protocol ControlModel: CloudModel {
    /// Program and API version.
    func version() async -> VersionDocument

    /// The whole state in one snapshot; to be answered from memory within a second.
    func status() async throws(ControlError) -> StatusDocument

    /// Every paired recorder, by id.
    func recorders() async throws(ControlError) -> [RecorderDocument]

    /// One recorder by its id, by an unambiguous beginning of it, or by its address. Throws `notFound`.
    func recorder(_ id: String) async throws(ControlError) -> RecorderDocument

    /// The sessions that match, newest first, without their assets.
    func sessions(_ query: SessionQuery) async throws(ControlError) -> SessionPage

    /// What is on the bus as objects: every paired recorder and the newest sessions.
    func objects() async throws(ControlError) -> ControlObjects

    /// One session with its assets, by its id or an unambiguous beginning of it. Throws `notFound`.
    func session(_ id: String) async throws(ControlError) -> SessionDocument

    /// Does to a session what the user asks for, by its id or an unambiguous beginning of it. Returns the session
    /// afterwards. Throws `notFound`, and `busy` where the session's state does not allow it.
    func act(_ action: SessionAction, on id: String) async throws(ControlError) -> SessionDocument

    /// Makes a session of a cancelled or waiting one for the host that is configured now; returns the new one.
    func migrate(_ id: String) async throws(ControlError) -> SessionDocument

    /// The bytes of a file that is in the queue, open for reading. Throws `notFound`, also when they are not here.
    func openAsset(_ id: String) async throws(ControlError) -> SharedFD

    /// Where the space of the queue goes.
    func storage() async throws(ControlError) -> StorageReportDocument

    /// Takes a file that the caller has opened into the queue; returns when it is durable there.
    func importFile(_ request: ImportRequest) async throws(ControlError) -> ImportDocument

    /// Looks for recorders until `duration` is over or the task is cancelled; tells `report` of each one found and
    /// of each change of it (same address). Throws `adapterUnavailable`.
    func scan(
        for duration: Duration, report: @escaping @Sendable (ScanResultDocument) async -> Void
    ) async throws(ControlError)

    /// Pairs with a recorder. When the task is cancelled (the user's Ctrl-C, or the caller has left the bus) the
    /// pairing is cancelled and no half bond is left. Never removes a bond unless `request.repair` says so.
    func pair(
        _ request: PairRequest, dialogue: any PairingDialogue
    ) async throws(ControlError) -> PairResultDocument

    /// Forgets a recorder and its bond; with `unbind` also in the cloud. What is in the queue stays. Throws `notFound`.
    func forget(_ id: String, unbind: Bool) async throws(ControlError)

    /// Asks for a sync now of one recorder (nil: all) and for the uploads that wait for a retry. Returns at once.
    func sync(recorder: String?) async throws(ControlError)

    /// Logs in and keeps the tokens. Throws `notLoggedIn` when the cloud refuses.
    func login(identifier: String, password: Password) async throws(ControlError) -> AccountDocument

    /// Revokes and forgets the tokens. The queue keeps what it has.
    func logout() async throws(ControlError)

    /// What has changed, as it changes; the server coalesces. One stream per call, ended with the daemon.
    func changes() async -> AsyncStream<ChangeKind>
}

/// What is on the bus as objects of their own.
package struct ControlObjects: Sendable {
    /// So many sessions, the newest: a queue may hold a hundred thousand.
    package static let maximumSessions = 256

    package let recorders: [RecorderDocument]
    package let sessions: [SessionDocument]

    package init(recorders: [RecorderDocument], sessions: [SessionDocument]) {
        self.recorders = recorders
        self.sessions = sessions
    }
}

/// What `Changed` is about. Clients read the document again.
package enum ChangeKind: String, Sendable, CaseIterable {
    case account, adapters, recorders, sessions, transfers, health
}

/// Which sessions to return.
package struct SessionQuery: Sendable, Hashable, Codable {
    /// How many of the newest to skip.
    package var offset: Int
    /// How many at most; the server allows `maximumLimit`.
    package var limit: Int
    /// Only of this recorder (its id).
    package var recorder: String?
    /// Only in this state.
    package var state: String?
    /// Only those that wait for the user or for something outside: held, failed for good, or in doubt.
    package var attention: Bool

    package static let maximumLimit = 500

    package init(
        offset: Int = 0, limit: Int = 50, recorder: String? = nil, state: String? = nil,
        attention: Bool = false
    ) {
        self.offset = offset
        self.limit = limit
        self.recorder = recorder
        self.state = state
        self.attention = attention
    }
}

/// What a user can do to one session.
package enum SessionAction: String, Sendable, CaseIterable {
    /// Ask the cloud what it has, before anything else is sent.
    case reconcile = "Reconcile"
    /// Try again now.
    case retry = "Retry"
    /// Do not send it; its bytes stay until `purge`.
    case cancel = "Cancel"
    /// Do not send it for now.
    case pause = "Pause"
    /// End the pause.
    case resume = "Resume"
    /// Remove the bytes of a cancelled one, for good.
    case purge = "Purge"
}

/// A file that is offered to the queue.
package struct ImportRequest: Sendable {
    /// Open for reading by the caller, whose permissions decided that.
    package var file: SharedFD
    /// Its name, without its folder.
    package var name: String
    /// Where it lies, for the provenance.
    package var path: String?
    /// `dslr_import`, `watched_folder`, `mobile_photo` or `mobile_scan`.
    package var source: String?

    package init(file: SharedFD, name: String, path: String? = nil, source: String? = nil) {
        self.file = file
        self.name = name
        self.path = path
        self.source = source
    }
}

/// Whom to pair with, and how.
package struct PairRequest: Sendable, Hashable, Codable {
    /// A scan result's address, or a recorder's id.
    package var device: String
    /// Fail when it is paired already, instead of doing nothing.
    package var firstTime: Bool
    /// Remove the bond that there is and make a new one.
    package var repair: Bool
    /// Accept a pairing that does not protect against a man in the middle.
    package var allowJustWorks: Bool
    /// How long to look for it when it is not in reach, in seconds; nil: as long as the daemon thinks right.
    package var searchSeconds: UInt32?

    package static let maximumSearchSeconds: UInt32 = 600

    package init(
        device: String, firstTime: Bool = false, repair: Bool = false, allowJustWorks: Bool = false,
        searchSeconds: UInt32? = nil
    ) {
        self.device = device
        self.firstTime = firstTime
        self.repair = repair
        self.allowJustWorks = allowJustWorks
        self.searchSeconds = searchSeconds
    }
}

/// The user, as the pairing sees him.
package protocol PairingDialogue: Sendable {
    /// Says what is being done now: `connecting`, `pairing`, `reading`; open.
    func stage(_ stage: String) async

    /// Asks the user and waits for the answer; for `.display` returns `.accept` at once. Throws `cancelled`
    /// when the task is cancelled or the user has gone.
    func ask(_ question: PairingQuestion) async throws(ControlError) -> PairingAnswer
}

/// What the Bluetooth agent wants to know (org.bluez.Agent1).
package enum PairingQuestion: Sendable, Hashable {
    /// Numeric comparison: does the recorder show this number (0…999999)?
    case confirm(passkey: UInt32)
    /// Which number does the recorder show?
    case enterPasskey
    /// The number to type on the recorder.
    case display(passkey: UInt32)
    /// No protection against a man in the middle: pair nevertheless?
    case justWorks
}

/// The user's answer.
package enum PairingAnswer: Sendable, Hashable {
    case accept
    case passkey(UInt32)
    case refuse
}

/// A password on its way from the terminal to the cloud: never printed.
package struct Password: Sendable, Hashable, CustomStringConvertible, CustomDebugStringConvertible,
    CustomReflectable
{
    private let value: String

    package init(_ value: String) {
        self.value = value
    }

    /// The text itself, for the wire only.
    package func reveal() -> String { value }

    package var description: String { "<redacted>" }
    package var debugDescription: String { "<redacted>" }
    package var customMirror: Mirror { Mirror(self, children: [:]) }
}
