import BlueZ
import CaptureQueue
import Cloud
import Control
import DBus
import Dispatch
import EventLoop
import Gateway
import Glibc
import HTTP

/// The daemon as a process: from the configuration to the end by a signal.
struct DaemonProcess: Sendable {
    let live: LiveConfiguration
    /// Reads the configuration anew.
    let reload:
        @Sendable () throws(GatewayError) -> (configuration: Configuration, settings: [ConfigurationSetting])
    let log: Log
    let service: ServiceManager
    let loop: EventLoop

    /// Runs until SIGTERM or SIGINT. Throws what keeps the daemon from working.
    func run() async throws(GatewayError) {
        do throws(HTTPError) {
            try HTTPClient.globalSetUp()
        } catch {
            throw GatewayError(.system, error.message)
        }
        log.notice(
            "celestiad \(Version.number) starts; state in \(live.current.stateDirectory)", .daemonStarts)
        let gateway = try await Gateway.open(live, log: log)
        // At the very end: calls of users that are under way need the loops to be answered.
        defer { gateway.stopLoops() }
        let server: ControlServer
        do throws(GatewayError) {
            server = try await serve(gateway)
        } catch {
            await gateway.close()
            throw error
        }
        let failure = await withTaskGroup(of: GatewayError?.self) { group in
            group.addTask { await self.run(gateway) }
            group.addTask {
                await server.serve()
                return Task.isCancelled ? nil : GatewayError(.noBus, "the message bus went away")
            }
            group.addTask { await self.stopBySignal(gateway) }
            group.addTask { await self.feedWatchdog(gateway) }
            group.addTask { await self.measure(gateway) }
            group.addTask { await self.tellHomeAssistant(gateway) }
            // The gateway's end is the daemon's; the others only help it along.
            var failure: GatewayError?
            if let first = await group.next() { failure = first }
            gateway.stop()
            group.cancelAll()
            return failure
        }
        if let failure { throw failure }
        log.notice("celestiad ends", .daemonEnds)
    }

    private func serve(_ gateway: Gateway) async throws(GatewayError) -> ControlServer {
        let connection: Connection
        do throws(DBusError) {
            connection = try await Connection.open(live.current.busAddress, on: loop)
        } catch {
            throw GatewayError(.noBus, error.message)
        }
        let server = ControlServer(
            connection: connection, model: DaemonControl(gateway: gateway),
            logControl: DaemonLogControl(log: log))
        do throws(ControlError) {
            try await server.start()
        } catch {
            throw GatewayError(
                error.code == .busy ? .alreadyRunning : .system, error.message, hint: error.hint)
        }
        return server
    }

    private func run(_ gateway: Gateway) async -> GatewayError? {
        do throws(GatewayError) {
            try await gateway.run {
                ProcessMemory.releaseCode()
                log.notice("ready", .daemonReady)
                service.ready()
            }
            return nil
        } catch {
            return error
        }
    }

    private func stopBySignal(_ gateway: Gateway) async -> GatewayError? {
        guard let signals = try? SignalSource.stream([SIGTERM, SIGINT, SIGHUP], on: loop) else {
            return GatewayError(.system, "signals cannot be received")
        }
        for await signal in signals {
            guard signal != SIGHUP else {
                await takeConfiguration()
                continue
            }
            log.notice("stopping: what is under way is put down", .daemonStops)
            service.stopping()
            gateway.stop()
        }
        return nil
    }

    /// What is wrong with the new one, is said, and the one of before stays.
    private func takeConfiguration() async {
        service.reloading()
        defer { service.ready() }
        let reload = reload
        let result = await withCheckedContinuation { continuation in
            // Files are not read on the cooperative pool.
            DispatchQueue.global().async {
                continuation.resume(returning: Result { () throws(GatewayError) in try reload() })
            }
        }
        switch result {
        case .success(let loaded):
            let level = live.current.logLevel
            let change = live.take(loaded.configuration, loaded.settings)
            if live.current.logLevel != level { log.level = live.current.logLevel }
            let taken =
                change.taken.isEmpty
                ? "nothing is different" : "taken: \(change.taken.joined(separator: ", "))"
            log.notice("the configuration was read again; \(taken)")
            if !change.waiting.isEmpty {
                log.warning(
                    "\(change.waiting.joined(separator: ", ")) will count from the next start on: sudo systemctl restart celestiad"
                )
            }
        case .failure(let error):
            log.error("the configuration was not taken, and what was stays: \(error)")
        }
    }

    private func tellHomeAssistant(_ gateway: Gateway) async -> GatewayError? {
        let control = DaemonControl(gateway: gateway)
        await live.following(
            { $0.mqtt }, { settings in await MQTTService(control: control, settings: settings).run() })
        return nil
    }

    private func measure(_ gateway: Gateway) async -> GatewayError? {
        let (control, loop) = (DaemonControl(gateway: gateway), loop)
        await live.following(
            { $0.metrics },
            { settings in await MetricsService(control: control, loop: loop, settings: settings).run() })
        return nil
    }

    private func feedWatchdog(_ gateway: Gateway) async -> GatewayError? {
        let rollCall = gateway.rollCall.adding(RollCall.Part("D-Bus API", loop: loop))
        await Watchdog(service: service, log: log, rollCall: rollCall) { await gateway.statusLine() }.run()
        return nil
    }
}
