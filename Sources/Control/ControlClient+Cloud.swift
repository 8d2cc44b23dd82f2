import DBus

/// The interface Cloud, as clients call it.
extension ControlClient {
    /// A list of sessions comes in one piece, however long it is.
    private static let listTimeout = Duration.seconds(330)

    package func cloudStatus() async throws(ControlError) -> CloudStatusDocument {
        try await cloud("Status")
    }

    package func register(
        username: String, identifier: String, password: Password
    ) async throws(ControlError) -> AccountDocument {
        let pipe = try PasswordPipe.readEnd(holding: password)
        return try await cloud("Register", [.string(username), .string(identifier), .unixFD(pipe)])
    }

    package func profile() async throws(ControlError) -> ProfileDocument {
        try await cloud("Profile")
    }

    package func editProfile(_ change: ProfileChange) async throws(ControlError) -> ProfileDocument {
        var options: [String: DBusValue] = [:]
        options["username"] = change.username.map { .string($0) }
        options["email"] = change.email.map { .string($0) }
        options["phone_number"] = change.phoneNumber.map { .string($0) }
        options["avatar_url"] = change.avatarURL.map { .string($0) }
        return try await cloud("EditProfile", options: options)
    }

    package func changePassword(old: Password, new: Password) async throws(ControlError) {
        let pipes = [try PasswordPipe.readEnd(holding: old), try PasswordPipe.readEnd(holding: new)]
        _ = try await call(
            "ChangePassword", pipes.map { .unixFD($0) }, interface: ControlNames.cloud,
            timeout: Self.loginTimeout)
    }

    package func cloudSessions(_ query: CloudSessionQuery) async throws(ControlError) -> CloudSessionPage {
        let options: [String: DBusValue] = [
            "offset": .int64(Int64(query.offset)), "limit": .int64(Int64(query.limit)),
            "deleted": .boolean(query.deleted),
        ]
        return try await cloud("Sessions", options: options, timeout: Self.listTimeout)
    }

    package func cloudSession(_ id: String) async throws(ControlError) -> CloudSessionDocument {
        try await cloud("Session", [.string(id)], timeout: Self.listTimeout)
    }

    /// Returns the file's length afterwards. When the task is cancelled the download ends; what is in the file stays.
    package func download(_ request: DownloadRequest) async throws(ControlError) -> Int64 {
        let job = try await run(
            "Download",
            [
                .string(request.session), .string(request.asset), .unixFD(request.file),
                .int64(request.bytes),
            ], interface: ControlNames.cloud
        ) { _ throws(ControlError) in nil }
        guard let bytes = job.bytes else {
            throw ControlError(.failed, "the download ended without a result")
        }
        return bytes
    }

    package func unbindDevice(_ id: String) async throws(ControlError) -> RecorderDocument {
        try await cloud("UnbindDevice", [.string(id)])
    }

    package func bindDevice(_ id: String) async throws(ControlError) -> RecorderDocument {
        try await cloud("BindDevice", [.string(id)])
    }

    package func renameDevice(_ id: String, to name: String) async throws(ControlError) -> RecorderDocument {
        try await cloud("RenameDevice", [.string(id), .string(name)])
    }

    private func cloud<Document: Decodable>(
        _ member: String, _ arguments: [DBusValue] = [], options: [String: DBusValue] = [:],
        timeout: Duration = ControlClient.loginTimeout
    ) async throws(ControlError) -> Document {
        try await document(
            member, arguments, options: options, interface: ControlNames.cloud, timeout: timeout)
    }
}
