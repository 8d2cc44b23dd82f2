import Control
import EventLoop
import FoundationEssentials
import Gateway

/// Makes the daemon's metrics and brings them to where they are wanted.
struct MetricsService: Sendable {
    let control: DaemonControl
    let loop: EventLoop
    let settings: MetricsConfiguration

    private var log: Log { control.gateway.log }
    private static let patience = Duration.seconds(5)

    /// Runs until the task is cancelled, also where nothing is wanted.
    func run() async {
        await withDiscardingTaskGroup { group in
            if let path = settings.file { group.addTask { await write(ReplacedFile(path: path)) } }
            if let address = settings.address { group.addTask { await serve(address) } }
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(1 << 30)) }
        }
    }

    private func write(_ file: ReplacedFile) async {
        while !Task.isCancelled {
            let text = await text()
            let failure = await DoctorLook.look("the file system", within: Self.patience) {
                () -> SystemError? in
                do throws(SystemError) {
                    try file.write(text)
                    return nil
                } catch {
                    return error
                }
            }
            switch failure {
            case .found(nil): break
            case .found(let error?):
                log.warning("the metrics cannot be written to \(file.path): \(error)", .metricsFailed)
            case .blind(let reason): log.warning("the metrics cannot be written: \(reason)", .metricsFailed)
            }
            try? await Task.sleep(for: settings.interval)
        }
        file.remove()
    }

    private func serve(_ address: MetricsAddress) async {
        let listener = MetricsListener(address, on: loop) { await text() }
        do throws(SystemError) {
            try await listener.start()
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(1 << 30)) }
        } catch {
            log.warning("the metrics cannot be served at \(address): \(error)", .metricsFailed)
        }
        await listener.stop()
    }

    private func text() async -> String {
        do throws(ControlError) {
            let gateway = control.gateway
            return MetricsText.text(
                Metrics.families(
                    MetricsFacts(
                        status: try await control.status(), storage: try? await control.storage(),
                        tally: gateway.log.tally, bytes: gateway.board.transferredBytes,
                        isClockSynchronized: SystemClock.isSynchronized)))
        } catch {
            return "# the daemon could not be asked\n"
        }
    }
}
