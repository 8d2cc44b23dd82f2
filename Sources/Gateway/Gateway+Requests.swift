import BlueZ
import CaptureQueue
import Cloud
import DBus
import EventLoop
import FoundationEssentials
import Glibc
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
                    hint: "celestiad device bind \(Terminal.shellWord(serial))")
            }
        }
        await uploads.kick()
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
