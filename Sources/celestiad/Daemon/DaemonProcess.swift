import BlueZ
import CaptureQueue
import Cloud
import Control
import DBus
import EventLoop
import Gateway
import Glibc
import HTTP

/// The daemon as a process: from the configuration to the end by a signal.
struct DaemonProcess: Sendable {
    let configuration: Configuration
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
            "celestiad \(Version.number) starts; state in \(configuration.stateDirectory)", .daemonStarts)
        let gateway = try await Gateway.open(configuration, log: log)
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
            connection = try await Connection.open(configuration.busAddress, on: loop)
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
        guard let signals = try? SignalSource.stream([SIGTERM, SIGINT], on: loop) else {
            return GatewayError(.system, "signals cannot be received")
        }
        for await _ in signals {
            log.notice("stopping: what is under way is put down", .daemonStops)
            service.stopping()
            gateway.stop()
        }
        return nil
    }

    /// Ends with the daemon only.
    private func measure(_ gateway: Gateway) async -> GatewayError? {
        await MetricsService(control: DaemonControl(gateway: gateway), loop: loop).run()
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(1 << 30)) }
        return nil
    }

    private func feedWatchdog(_ gateway: Gateway) async -> GatewayError? {
        let rollCall = gateway.rollCall.adding(RollCall.Part("D-Bus API", loop: loop))
        await Watchdog(service: service, log: log, rollCall: rollCall) { await gateway.statusLine() }.run()
        return nil
    }
}
