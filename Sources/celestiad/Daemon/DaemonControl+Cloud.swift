import CaptureQueue
import Cloud
import Control
import Dates
import FoundationEssentials
import Gateway
import HTTP

/// The account and what it holds in the cloud.
extension DaemonControl {
    func cloudStatus() async throws(ControlError) -> CloudStatusDocument {
        let report = await gateway.cloudReport()
        let now = Date()
        var document = CloudStatusDocument(
            time: now, host: gateway.api.base.description, state: "ok", account: await accountDocument())
        if let trouble = report.trouble {
            document.state = trouble.status == nil ? "unreachable" : "unwell"
            document.message = trouble.message
            document.hint = trouble.hint
        }
        document.roundTripMs = report.roundTrip.map { Int64($0 / .milliseconds(1)) }
        document.clockSkewMs = report.serverTime.map {
            Int64(clamping: Int((now.timeIntervalSince($0) * 1000).rounded()))
        }
        document.quota = report.quota.map {
            QuotaDocument(
                totalBytes: $0.totalBytes, usedBytes: $0.usedBytes, remainingBytes: $0.remainingBytes)
        }
        return document
    }

    func register(
        username: String, identifier: String, password: Password
    ) async throws(ControlError) -> AccountDocument {
        try await asking { () async throws(GatewayError) in
            try await gateway.register(
                username: username, identifier: identifier, password: Secret(password.reveal()))
        }
        return await accountDocument()
    }

    func profile() async throws(ControlError) -> ProfileDocument {
        let user = try await asking { () async throws(GatewayError) in try await gateway.profile() }
        return ProfileDocument(user, host: gateway.api.base.description)
    }

    func editProfile(_ change: ProfileChange) async throws(ControlError) -> ProfileDocument {
        let update = ProfileUpdate(
            username: change.username, email: change.email, phoneNumber: change.phoneNumber,
            avatarURL: change.avatarURL)
        let user = try await asking { () async throws(GatewayError) in
            try await gateway.editProfile(update)
        }
        return ProfileDocument(user, host: gateway.api.base.description)
    }

    func changePassword(old: Password, new: Password) async throws(ControlError) {
        try await asking { () async throws(GatewayError) in
            try await gateway.changePassword(old: Secret(old.reveal()), new: Secret(new.reveal()))
        }
    }

    func cloudSessions(_ query: CloudSessionQuery) async throws(ControlError) -> CloudSessionPage {
        let list = try await asking { () async throws(GatewayError) in
            try await gateway.cloudSessions(deleted: query.deleted) { query.deleted || $0.deletedAt == nil }
        }
        let sorted = list.sessions
            .sorted {
                ($0.startTime?.secondsSince1970 ?? 0, $0.id) > ($1.startTime?.secondsSince1970 ?? 0, $1.id)
            }
        var sessions: [CloudSessionDocument] = []
        for session in sorted.dropFirst(query.offset).prefix(query.limit) {
            sessions.append(await document(session, withAssets: false))
        }
        return CloudSessionPage(
            total: sorted.count, offset: query.offset, sessions: sessions,
            unreadable: list.unreadableCount > 0 ? list.unreadableCount : nil)
    }

    func cloudSession(_ id: String) async throws(ControlError) -> CloudSessionDocument {
        let list = try await asking { () async throws(GatewayError) in
            try await gateway.cloudSessions(deleted: true) { $0.id.hasPrefix(id) || $0.clientId == id }
        }
        if let exact = list.sessions.first(where: { $0.id == id || $0.clientId == id }) {
            return await document(exact, withAssets: true)
        }
        let matches = list.sessions
        guard let match = matches.first else {
            throw ControlError(
                .notFound, "the account has no session \(Terminal.printable(id))",
                hint: "celestiad cloud sessions lists them")
        }
        guard matches.count == 1 else {
            throw ControlError(
                .invalidArgument, "\(Terminal.printable(id)) is the beginning of \(matches.count) ids",
                hint: "type more of it")
        }
        return await document(match, withAssets: true)
    }

    func download(_ request: DownloadRequest) async throws(ControlError) -> Int64 {
        try await asking { () async throws(GatewayError) in
            try await gateway.download(
                session: request.session, asset: request.asset, into: request.file, bytes: request.bytes)
        }
    }

    func unbindDevice(_ id: String) async throws(ControlError) -> RecorderDocument {
        let serial = try await recorder(id).id
        try await asking { () async throws(GatewayError) in try await gateway.unbindDevice(serial) }
        return try await recorder(serial)
    }

    func bindDevice(_ id: String) async throws(ControlError) -> RecorderDocument {
        let serial = try await recorder(id).id
        try await asking { () async throws(GatewayError) in try await gateway.bindDevice(serial) }
        return try await recorder(serial)
    }

    func renameDevice(_ id: String, to name: String) async throws(ControlError) -> RecorderDocument {
        let serial = try await recorder(id).id
        try await asking { () async throws(GatewayError) in
            try await gateway.renameDevice(serial, to: name)
        }
        return try await recorder(serial)
    }

    private func document(_ remote: RemoteSession, withAssets: Bool) async -> CloudSessionDocument {
        let local = try? await gateway.queue.session(remoteID: remote.id)
        return CloudSessionDocument(
            id: remote.id, clientId: remote.clientId, title: remote.title,
            startedAt: remote.startTime?.date, endedAt: remote.endTime?.date, durationMs: remote.durationMs,
            revision: remote.revision, deletedAt: remote.deletedAt?.date, events: remote.events.count,
            files: remote.assets.count, bytes: remote.assets.reduce(0) { $0.addingClamped($1.sizeBytes) },
            session: local?.text,
            assets: withAssets ? remote.assets.map { CloudAssetDocument($0) } : nil,
            unreadable: remote.unreadableCount > 0 ? remote.unreadableCount : nil)
    }
}

extension Int64 {
    /// Sizes from outside may be anything.
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

extension Timestamp {
    fileprivate var date: Date { Date(timeIntervalSince1970: Double(secondsSince1970)) }
}

extension ProfileDocument {
    fileprivate init(_ user: CloudUser, host: String) {
        self.init(
            id: user.id, username: user.username, email: user.email, phoneNumber: user.phoneNumber,
            avatarUrl: user.avatarURL, registeredAt: user.registeredAt?.date, updatedAt: user.updatedAt?.date,
            host: host)
    }
}

extension CloudAssetDocument {
    fileprivate init(_ asset: Cloud.RemoteAsset) {
        self.init(
            id: asset.id, clientId: asset.clientId, kind: asset.kind, name: asset.fileName,
            mimeType: asset.mimeType, bytes: asset.sizeBytes, sha256: asset.sha256,
            createdAt: asset.createdAt?.date)
    }
}
