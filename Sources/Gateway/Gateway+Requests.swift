import BlueZ
import CaptureQueue
import Cloud
import DBus
import EventLoop
import FoundationEssentials
import Glibc
package import HTTP
import Recorder

/// What users ask for.
extension Gateway {
    /// Looks for recorders for so long.
    package nonisolated func scan(
        for duration: Duration, report: @escaping @Sendable (SeenRecorder) async -> Void
    ) async throws(GatewayError) {
        try await PairingDriver(context: context, links: links).requireAdapter()
        try await Scanner(context: context).scan(for: duration, report: report)
    }

    /// Pairs with a recorder.
    package nonisolated func pair(
        _ options: PairingOptions, user: any PairingUser
    ) async throws(GatewayError) -> PairingOutcome {
        try await PairingDriver(context: context, links: links).pair(options, user: user)
    }

    /// Forgets a recorder and its bond, with `unbind` in the cloud too; what it recorded stays in the queue.
    package nonisolated func forget(_ serial: String, unbind: Bool) async throws(GatewayError) {
        let recorder = try await pairedRecorder(serial)
        // First, because it can fail, and then nothing has happened.
        if unbind { try await removeFromAccount(recorder) }
        do throws(QueueError) {
            await links.release(serial)
            let address = recorder.bluetoothIdentity?.uppercased()
            for device in await bluez.devices where device.address?.uppercased() == address {
                try? await bluez.removeDevice(device.path)
            }
            try await queue.forgetRecorder(serial)
        } catch {
            throw GatewayError(error)
        }
        log.notice("recorder \(serial): forgotten", .recorderForgotten, recorder: serial)
        board.announce(.recorders)
    }

    /// Looks at a recorder (nil: all) and at everything that waits for a retry, now.
    package nonisolated func sync(_ serial: String?) async throws(GatewayError) {
        if await !links.want(serial), let serial {
            guard try await pairedRecorder(serial).unboundAt == nil else {
                throw GatewayError(
                    .refused, "recorder \(serial) was removed from the account, so it is not read",
                    hint: "celestiad device bind \(serial)")
            }
        }
        await uploads.kick()
    }

    /// Throws `busy` while somebody else is logged in: what is queued for it would silently stop.
    package nonisolated func logIn(identifier: String, password: Secret) async throws(GatewayError) {
        if case .valid(let login) = try? await api.tokens.state() {
            let user = login.user
            let names = [login.identifier, user?.username, user?.email, user?.phoneNumber]
                .compactMap { $0?.lowercased() }
            guard names.contains(identifier.lowercased()) else {
                throw GatewayError(
                    .busy, "\(Terminal.printable(login.name)) is logged in",
                    hint:
                        "Log out first: celestiad logout. What is queued for that account stays its own, and waits until "
                        + "somebody logs in to it again.")
            }
        }
        _ = try await asking { () async throws(CloudError) in
            try await api.logIn(identifier: identifier, password: password)
        }
        log.notice("logged in to \(api.base)", .loggedIn)
    }

    package nonisolated func logOut() async throws(GatewayError) {
        let refusal = try await asking { () async throws(CloudError) in try await api.logOut() }
        if let refusal {
            log.warning(
                "the cloud did not take the logout, the tokens are forgotten all the same: \(refusal)")
        }
        log.notice("logged out", .loggedOut)
    }
}

/// The space of a file system.
package struct DiskSpace: Sendable {
    package let total: Int64
    /// Free for this user.
    package let free: Int64
}

extension Gateway {
    /// The space where the queue is; nil when it cannot be told.
    package nonisolated func diskSpace() -> DiskSpace? {
        var info = statvfs()
        guard statvfs(configuration.stateDirectory, &info) == 0 else { return nil }
        return DiskSpace(
            total: Int64(clamping: UInt64(info.f_blocks) * UInt64(info.f_frsize)),
            free: Int64(clamping: UInt64(info.f_bavail) * UInt64(info.f_frsize)))
    }
}
