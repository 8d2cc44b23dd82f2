import DBus

/// The interfaces Recorder and Session, of objects.
extension ControlServer {
    /// What changes make the objects differ.
    static let kindsOfObjects: Set<ChangeKind> = [.recorders, .sessions, .account]

    func showObjects() async {
        // A queue that does not answer is told by the methods; the objects stay as they were.
        guard let documents = try? await model.objects() else { return }
        await objects.show(documents)
    }

    static func answer(
        _ model: any ControlModel, _ kind: ControlObject, _ id: String, _ call: IncomingCall
    ) async throws(ControlError) -> [DBusValue] {
        let arguments = CallArguments(call)
        switch kind {
        case .recorder:
            guard let method = RecorderMethod(rawValue: call.member) else { return [] }
            return try await answer(model, method, id, arguments)
        case .session:
            guard let method = SessionMethod(rawValue: call.member) else { return [] }
            return [try DocumentCoding.value(try await answer(model, method, id))]
        }
    }

    private static func answer(
        _ model: any ControlModel, _ method: RecorderMethod, _ id: String, _ arguments: CallArguments
    ) async throws(ControlError) -> [DBusValue] {
        switch method {
        case .describe: return [try DocumentCoding.value(try await model.recorder(id))]
        case .rename:
            let name = try arguments.identifier(0)
            return [try DocumentCoding.value(try await model.renameDevice(id, to: name))]
        case .bind: return [try DocumentCoding.value(try await model.bindDevice(id))]
        case .unbind: return [try DocumentCoding.value(try await model.unbindDevice(id))]
        case .sync: try await model.sync(recorder: id)
        case .forget: try await model.forget(id, unbind: try arguments.flag("unbind"))
        }
        return []
    }

    private static func answer(
        _ model: any ControlModel, _ method: SessionMethod, _ id: String
    ) async throws(ControlError) -> SessionDocument {
        switch method {
        case .describe: return try await model.session(id)
        case .migrate: return try await model.migrate(id)
        case .reconcile, .retry, .cancel, .pause, .resume, .purge:
            guard let action = SessionAction(rawValue: method.rawValue) else {
                throw ControlError(.failed, "there is no such action")
            }
            return try await model.act(action, on: id)
        }
    }
}
