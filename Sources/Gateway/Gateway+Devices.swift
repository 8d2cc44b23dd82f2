import CaptureQueue
import Cloud

/// What users say of a recorder that is paired.
extension Gateway {
    /// Why none of the adapters that may be used is on; nil: one is.
    package nonisolated func adapterTrouble() async -> AdapterTrouble? { await context.adapterTrouble() }

    /// Removes it from the account. It stays paired, but nothing is read from it until `bindDevice`: what it records
    /// from now on is not meant for this account (upload.md C-29). When the cloud cannot be told, nothing is changed.
    package nonisolated func unbindDevice(_ serial: String) async throws(GatewayError) {
        try await removeFromAccount(try await pairedRecorder(serial))
        board.announce(.recorders)
    }

    /// Ends what `unbindDevice` began; the account is told as soon as it can be.
    package nonisolated func bindDevice(_ serial: String) async throws(GatewayError) {
        do throws(QueueError) {
            try await queue.setUnbound(recorder: serial, false)
            if let recorder = try await queue.recorder(serial) { await links.supervise(recorder) }
        } catch {
            throw GatewayError(error)
        }
        await devices.hurry(serial)
        board.announce(.recorders)
    }

    /// Gives it a name, which the account is told as soon as it can be.
    package nonisolated func renameDevice(_ serial: String, to name: String) async throws(GatewayError) {
        do throws(QueueError) {
            try await queue.rename(recorder: serial, to: name)
        } catch {
            throw GatewayError(error)
        }
        await devices.hurry(serial)
        board.announce(.recorders)
    }

    nonisolated func pairedRecorder(_ serial: String) async throws(GatewayError) -> RecorderRecord {
        do throws(QueueError) {
            if let recorder = try await queue.recorder(serial), recorder.pairedAt != nil { return recorder }
        } catch {
            throw GatewayError(error)
        }
        throw GatewayError(
            .notFound, "there is no paired recorder \(serial)", hint: "celestiad devices lists them.")
    }

    /// The wish is durable before the cloud is told of it, so that nothing binds the recorder again meanwhile.
    nonisolated func removeFromAccount(_ recorder: RecorderRecord) async throws(GatewayError) {
        let serial = recorder.serial
        do throws(QueueError) {
            try await queue.setUnbound(recorder: serial, true)
        } catch {
            throw GatewayError(error)
        }
        await links.release(serial)
        do throws(CloudError) {
            try await devices.unbind(serial)
        } catch {
            // What a user had removed before stays so.
            if recorder.unboundAt == nil { try await bindDevice(serial) }
            let failure = GatewayError(error)
            throw GatewayError(
                failure.code, failure.message,
                hint: "Nothing was changed." + (failure.hint.map { " \($0)" } ?? ""))
        }
    }
}
