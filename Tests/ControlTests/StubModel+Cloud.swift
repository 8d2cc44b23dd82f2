import Control
import DBus
import Foundation

extension StubModel {
    func cloudStatus() async throws(ControlError) -> CloudStatusDocument {
        try record("cloud status")
        return cloud.status
    }

    func register(
        username: String, identifier: String, password: Password
    ) async throws(ControlError) -> AccountDocument {
        try record("register \(username) \(identifier) \(password.reveal())")
        return Fixtures.account
    }

    func profile() async throws(ControlError) -> ProfileDocument {
        try record("profile")
        return Fixtures.profile
    }

    func editProfile(_ change: ProfileChange) async throws(ControlError) -> ProfileDocument {
        let values = [change.username, change.email, change.phoneNumber, change.avatarURL]
        try record("edit \(values.map { $0 ?? "-" }.joined(separator: " "))")
        return Fixtures.profile
    }

    func changePassword(old: Password, new: Password) async throws(ControlError) {
        try record("password \(old.reveal()) \(new.reveal())")
    }

    func cloudSessions(_ query: CloudSessionQuery) async throws(ControlError) -> CloudSessionPage {
        try record("cloud sessions \(query.offset) \(query.limit) \(query.deleted)")
        return CloudSessionPage(total: 3, offset: query.offset, sessions: [cloud.session], unreadable: 1)
    }

    func cloudSession(_ id: String) async throws(ControlError) -> CloudSessionDocument {
        try record("cloud session \(id)")
        return cloud.session
    }

    /// Behaves as a server that continues, save that the bytes may be others than before.
    func download(_ request: DownloadRequest) async throws(ControlError) -> Int64 {
        var info = stat()
        fstat(request.file.rawValue, &info)
        try record("download \(request.session) \(request.asset) \(request.bytes) from \(info.st_size)")
        if let error = cloud.failing[request.asset] { throw error }
        let rest = cloud.contents.dropFirst(Int(info.st_size))
        let count = rest.withUnsafeBytes {
            pwrite(request.file.rawValue, $0.baseAddress, $0.count, off_t(info.st_size))
        }
        guard count == rest.count else { throw ControlError(.failed, "the file cannot be written") }
        return Int64(cloud.contents.count)
    }

    func unbindDevice(_ id: String) async throws(ControlError) -> RecorderDocument {
        try record("unbind \(id)")
        return Fixtures.recorder
    }

    func bindDevice(_ id: String) async throws(ControlError) -> RecorderDocument {
        try record("bind \(id)")
        return Fixtures.recorder
    }

    func renameDevice(_ id: String, to name: String) async throws(ControlError) -> RecorderDocument {
        try record("rename \(id) \(name)")
        var recorder = Fixtures.recorder
        recorder.name = name
        return recorder
    }
}

/// What the stub says of the cloud.
struct StubCloud: Sendable {
    var status = CloudStatusDocument(
        time: Fixtures.now, host: "https://api.example.com/v1", state: "ok", roundTripMs: 31,
        clockSkewMs: 312, account: Fixtures.account,
        quota: QuotaDocument(totalBytes: 10 << 30, usedBytes: 6 << 30, remainingBytes: 4 << 30))
    var session = Fixtures.cloudSession
    /// Of every file.
    var contents = Array("what was recorded".utf8)
    /// The files that cannot be had.
    var failing: [String: ControlError] = [:]
}

extension Fixtures {
    static let profile = ProfileDocument(
        id: "u1", username: "ada", email: "ada@example.com", registeredAt: ago(86_400),
        host: "https://api.example.com/v1")

    static let cloudSession = CloudSessionDocument(
        id: "54a6023b-0a92-4752-b55a-0e6050ed802f", clientId: session.id, title: "evil\u{1B}[2J",
        startedAt: ago(3600), durationMs: 61_000, revision: 7, events: 2, files: 1, bytes: 17,
        session: session.id,
        assets: [
            CloudAssetDocument(
                id: "asset-1", kind: "AUDIO", name: "../../memo\u{1B}.opus", mimeType: "audio/ogg", bytes: 17,
                sha256: "f21ec02a8f9c179ceacfe53189db7b6223affc0e5e2115199f741fe58a3d645c")
        ])
}
