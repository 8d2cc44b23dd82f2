import BlueZ
import DBus
import EventLoop
import HTTP

/// What the machine's network means for uploads.
extension Gateway {
    /// The limit of all uploads together.
    nonisolated func paceUploads() async {
        let (http, clock, log, now) = (http, context.clock, log, context.now)
        await live.following(\.uploadRates) { rates in
            await UploadPacer(
                timetable: rates, log: log, now: now, sleep: { try await clock.sleep(for: $0) },
                apply: { await http.limitSending(to: $0) }
            ).run()
        }
    }

    /// Tries again at once what failed for want of a network, as soon as there may be one again.
    nonisolated func watchNetwork() async {
        let (uploads, log) = (uploads, log)
        do throws(SystemError) {
            let watch = NetworkWatch(loop: loops[0], socket: try NetworkWatch.open()) {
                log.debug("the network may be back")
                await uploads.networkReturned()
            }
            try await watch.start()
            await untilCancelled()
            await watch.stop()
        } catch {
            log.info("the network's return is noticed when something is tried again, not at once: \(error)")
            await untilCancelled()
        }
    }

    /// Holds uploads while the network is metered, where that is wanted.
    nonisolated func watchMetered() async {
        await live.following(\.holdsWhenMetered) { holds in await self.watchMetered(holding: holds) }
    }

    private nonisolated func watchMetered(holding: Bool) async {
        let uploads = uploads
        guard holding else {
            await uploads.networkIsMetered(false)
            return await untilCancelled()
        }
        do throws(DBusError) {
            try await MeteredWatch(connection: bluez.connection) { price in
                await uploads.networkIsMetered(price.isMetered)
            }.run()
        } catch {
            log.info("whether the network is metered cannot be told: \(error)")
        }
        await untilCancelled()
    }

    private nonisolated func untilCancelled() async {
        while !Task.isCancelled { try? await context.clock.sleep(for: .seconds(1 << 30)) }
    }
}
