package import DBus

/// What the daemon does for its users at the cloud. Each of these asks the server now; every one throws a `ControlError`
/// whose message and hint are shown as they are, `notLoggedIn` where a login is missing.
package protocol CloudModel: Sendable {
    /// Asks for health and, when logged in, for the quota. Trouble of the cloud is in the document, not thrown.
    func cloudStatus() async throws(ControlError) -> CloudStatusDocument

    /// Makes an account and logs in to it. Throws `busy` while another one is logged in.
    func register(
        username: String, identifier: String, password: Password
    ) async throws(ControlError) -> AccountDocument

    /// The account that is logged in.
    func profile() async throws(ControlError) -> ProfileDocument

    /// Changes the profile; returns it as it is afterwards.
    func editProfile(_ change: ProfileChange) async throws(ControlError) -> ProfileDocument

    /// Changes the account's password. Throws `notLoggedIn` when the old one is wrong.
    func changePassword(old: Password, new: Password) async throws(ControlError)

    /// The account's sessions, newest first, without their files.
    func cloudSessions(_ query: CloudSessionQuery) async throws(ControlError) -> CloudSessionPage

    /// One session with its files, by the cloud's id, its client id, or an unambiguous beginning of the former.
    func cloudSession(_ id: String) async throws(ControlError) -> CloudSessionDocument

    /// Writes a file of the cloud behind the bytes that the caller's file has already, or anew where the server does
    /// not continue. Returns the file's length then; its SHA-256 is the caller's to check.
    func download(_ request: DownloadRequest) async throws(ControlError) -> Int64

    /// Removes a recorder from the account; it stays paired, and nothing is read from it until `bindDevice`.
    func unbindDevice(_ id: String) async throws(ControlError) -> RecorderDocument

    /// Adds it to the account again.
    func bindDevice(_ id: String) async throws(ControlError) -> RecorderDocument

    /// Gives a recorder a name, here and in the account.
    func renameDevice(_ id: String, to name: String) async throws(ControlError) -> RecorderDocument
}

/// Which sessions of the cloud to return.
package struct CloudSessionQuery: Sendable, Hashable {
    /// How many of the newest to skip.
    package var offset: Int
    /// How many at most; the server allows `SessionQuery.maximumLimit`.
    package var limit: Int
    /// With the tombstones of deleted ones.
    package var deleted: Bool

    package init(offset: Int = 0, limit: Int = 50, deleted: Bool = false) {
        self.offset = offset
        self.limit = limit
        self.deleted = deleted
    }
}

/// A file of the cloud, and where its bytes are to go.
package struct DownloadRequest: Sendable {
    /// The cloud's ids.
    package var session: String
    package var asset: String
    /// Open for reading and writing by the caller.
    package var file: SharedFD
    /// Its size in the cloud: no more is written.
    package var bytes: Int64

    package init(session: String, asset: String, file: SharedFD, bytes: Int64) {
        self.session = session
        self.asset = asset
        self.file = file
        self.bytes = bytes
    }
}
