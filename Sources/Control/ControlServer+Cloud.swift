import DBus

/// The interface Cloud.
extension ControlServer {
    func cloudInterface() -> ExportedInterface {
        let methods = CloudMethod.allCases.map { method in
            ExportedMethod(method.rawValue, in: method.inputs, out: method.outputs) {
                call throws(DBusError) in
                do throws(ControlError) {
                    return try await self.answer(method, CallArguments(call))
                } catch {
                    throw error.dbus
                }
            }
        }
        return ExportedInterface(ControlNames.cloud, methods: methods, xml: Introspection.cloud)
    }

    private func answer(_ method: CloudMethod, _ arguments: CallArguments) async throws(ControlError)
        -> [DBusValue]
    {
        switch method {
        case .status: return [try DocumentCoding.value(try await model.cloudStatus())]
        case .register: return [try DocumentCoding.value(try await register(arguments))]
        case .profile: return [try DocumentCoding.value(try await model.profile())]
        case .editProfile: return [try DocumentCoding.value(try await editProfile(arguments))]
        case .changePassword:
            try await model.changePassword(
                old: try await password(arguments.file(0)), new: try await password(arguments.file(1)))
            return []
        case .sessions:
            let query = CloudSessionQuery(
                offset: try arguments.offset, limit: try arguments.limit ?? 50,
                deleted: try arguments.flag("deleted"))
            return [try DocumentCoding.value(try await model.cloudSessions(query))]
        case .session:
            return [try DocumentCoding.value(try await model.cloudSession(try arguments.identifier(0)))]
        case .download: return [.objectPath(try await download(arguments))]
        case .unbindDevice:
            return [try DocumentCoding.value(try await model.unbindDevice(try arguments.identifier(0)))]
        case .bindDevice:
            return [try DocumentCoding.value(try await model.bindDevice(try arguments.identifier(0)))]
        case .renameDevice:
            let name = try arguments.identifier(1)
            return [
                try DocumentCoding.value(try await model.renameDevice(try arguments.identifier(0), to: name))
            ]
        }
    }

    private func register(_ arguments: CallArguments) async throws(ControlError) -> AccountDocument {
        try await model.register(
            username: try arguments.identifier(0), identifier: try arguments.identifier(1),
            password: try await password(arguments.file(2)))
    }

    private func editProfile(_ arguments: CallArguments) async throws(ControlError) -> ProfileDocument {
        let change = ProfileChange(
            username: try arguments.option("username"), email: try arguments.option("email"),
            phoneNumber: try arguments.option("phone_number"),
            avatarURL: try arguments.option("avatar_url", limit: 2048))
        guard !change.isEmpty else {
            throw ControlError(
                .invalidArgument, "there is nothing to change",
                hint: "options: username, email, phone_number, avatar_url")
        }
        return try await model.editProfile(change)
    }

    private func download(_ arguments: CallArguments) async throws(ControlError) -> ObjectPath {
        guard let file = arguments.file(2), let bytes = arguments.call.arguments[3].asInt64, bytes > 0 else {
            throw ControlError(.invalidArgument, "a file to write and the size in bytes are needed")
        }
        let request = DownloadRequest(
            session: try arguments.identifier(0), asset: try arguments.identifier(1), file: file, bytes: bytes
        )
        return try await jobs.start("download", for: try await caller(arguments)) {
            [model] _ throws(ControlError) in
            .downloaded(try await model.download(request))
        }
    }
}
