import CaptureQueue
import Cloud
import EventLoop
import Foundation
import TestSupport
import Testing

@testable import Gateway

/// The account's record of recorders, against the simulated cloud.
@Suite(.serialized) struct DeviceSyncTests {
    @Test func bindsUpdatesBindsAgainAndUnbinds() async throws {
        let fixture = try await UploadFixture()
        let host = fixture.api.base.description
        var update = RecorderUpdate(serial: "CR1-000042")
        update.name = "Recorder"
        update.pairedAt = Date()
        update.batteryPercent = 80
        update.storageTotalBytes = 64 << 20
        try await fixture.queue.record(update)
        var stranger = RecorderUpdate(serial: "CR1-000043")
        stranger.name = "Not paired"
        try await fixture.queue.record(stranger)
        let sync = DeviceSync(
            queue: fixture.queue, api: fixture.api, board: fixture.board,
            log: Log(level: .debug) { _, _ in }, configuration: UploadFixture.quick,
            spacing: .milliseconds(10))
        let task = Task { await sync.run() }
        func bound() async throws -> String? {
            try await fixture.queue.recorder("CR1-000042")?.deviceIDs[host]
        }
        try await fixture.until(30, "the binding") { try await bound() != nil }
        let first = try await bound()
        let device = try #require(try await fixture.cloud.state().devices.first)
        #expect(device.id == first)
        #expect(device.peripheralUUID == Identity.peripheral(serial: "CR1-000042"))
        #expect(device.batteryLevel == 80)
        // Unbound elsewhere: the next change finds out, and binds it anew.
        try await fixture.api.unbindDevice(id: first ?? "")
        update.batteryPercent = 55
        try await fixture.queue.record(update)
        try await fixture.until(30, "the second binding") {
            let id = try await bound()
            return id != nil && id != first
        }
        // The telling of the link may have bound it before the battery changed.
        try await fixture.until(30, "the new value") {
            try await fixture.cloud.state().devices.map(\.batteryLevel) == [55]
        }
        // What the user does not want there goes, also when nobody is left to see to it, and stays away…
        try await fixture.queue.setUnbound(recorder: "CR1-000042", true)
        try await fixture.until(30, "the unbinding") {
            guard try await bound() == nil else { return false }
            return try await fixture.cloud.state().devices.isEmpty
        }
        update.pairedAt = nil
        update.batteryPercent = 54
        try await fixture.queue.record(update)
        try await sync.unbind("CR1-000042")
        #expect(try await bound() == nil)
        // …until he pairs it again.
        update.pairedAt = Date()
        try await fixture.queue.record(update)
        try await fixture.until(30, "the third binding") {
            try await fixture.cloud.state().devices.map(\.batteryLevel) == [54]
        }
        task.cancel()
        await task.value
        #expect(try await fixture.cloud.violations() == [])
    }

    private static let serial = "CR1-000042"

    /// A paired recorder.
    private func record(_ fixture: UploadFixture, _ change: (inout RecorderUpdate) -> Void) async throws {
        var update = RecorderUpdate(serial: Self.serial)
        update.pairedAt = Date(timeIntervalSince1970: 1_784_888_430)
        change(&update)
        try await fixture.queue.record(update)
    }

    private func sync(_ fixture: UploadFixture, _ clock: ManualClock) -> Task<Void, Never> {
        var configuration = UploadFixture.quick
        configuration.monotonic = { clock.now }
        configuration.sleep = { try await clock.sleep(for: $0) }
        let sync = DeviceSync(
            queue: fixture.queue, api: fixture.api, board: fixture.board, log: Log(level: .debug) { _, _ in },
            configuration: configuration)
        return Task { await sync.run() }
    }

    private func updates(_ fixture: UploadFixture) async throws -> Int {
        try await fixture.cloud.state().requests["updateDevice"]?.requests ?? 0
    }

    /// Bound at once; whatever changes within a minute is told as one, with what holds then.
    @Test func whatChangesWithinAMinuteIsToldOnce() async throws {
        let (fixture, clock) = (try await UploadFixture(), ManualClock())
        try await record(fixture) {
            $0.batteryPercent = 80
            $0.firmware = "1.0"
            $0.storageTotalBytes = 64 << 20
        }
        let task = sync(fixture, clock)
        try await fixture.until(30, "the binding") { try await !fixture.cloud.state().devices.isEmpty }
        for battery in 70...79 { try await record(fixture) { $0.batteryPercent = 149 - battery } }
        try await record(fixture) {
            $0.firmware = "1.1"
            $0.storageFreeBytes = 32 << 20
        }
        // It has seen all of it, and sleeps.
        await clock.waitForSleepers()
        #expect(try await updates(fixture) == 0)
        clock.advance(by: .seconds(59))
        await clock.waitForSleepers()
        #expect(try await updates(fixture) == 0)
        clock.advance(by: .seconds(1))
        try await fixture.until(30, "the update") { try await self.updates(fixture) == 1 }
        while try await fixture.cloud.state().devices.first?.batteryLevel != 70 { await Task.yield() }
        let device = try #require(try await fixture.cloud.state().devices.first)
        #expect(device.firmwareVersion == "1.1")
        #expect(device.freeStorageMB == 32)
        #expect(device.totalStorageMB == 64)
        #expect(device.isConnected == false)
        // The same once more is no news, however much time passes.
        try await record(fixture) { $0.batteryPercent = 70 }
        clock.advance(by: .seconds(3600))
        await clock.waitForSleepers()
        #expect(try await updates(fixture) == 1)
        task.cancel()
        await task.value
        #expect(try await fixture.cloud.state().requests["bindDevice"]?.requests == 1)
    }

    /// The account's id of a recorder outlives the daemon: nothing is bound twice.
    @Test func aRestartBindsNothing() async throws {
        let (fixture, clock) = (try await UploadFixture(), ManualClock())
        try await record(fixture) { $0.batteryPercent = 80 }
        let first = sync(fixture, clock)
        try await fixture.until(30, "the binding") { try await !fixture.cloud.state().devices.isEmpty }
        first.cancel()
        await first.value
        let second = sync(fixture, clock)
        // What it had told is forgotten with it, so that it tells all of it once.
        while try await updates(fixture) == 0 { await Task.yield() }
        second.cancel()
        await second.value
        let state = try await fixture.cloud.state()
        #expect(state.devices.count == 1)
        #expect(state.requests["bindDevice"]?.requests == 1)
    }
}
