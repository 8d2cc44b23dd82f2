import CaptureQueue
import EventLoop
import Glibc

/// Breaks the capture queue in every way that can be had and looks whether a byte was lost, doubled or claimed.
@main
enum Program {
    static let usage = """
        usage: celestia-torture [--kills N] [--power-cuts N] [--full-disks N] [--disk-faults N] [--read-only]
                                [--seed N] [--directory DIR] [--fault-library FILE]
        """

    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        var words = Array(CommandLine.arguments.dropFirst())
        do {
            if words.first == "work" {
                words.removeFirst()
                try await work(words)
            } else {
                exit(try await torture(words) ? 0 : 1)
            }
        } catch {
            Lines.say("celestia-torture: \(error)", to: STDERR_FILENO)
            exit(2)
        }
    }

    private static func work(_ words: [String]) async throws {
        guard words.count == 4, let seed = UInt64(words[1]), let first = Int(words[2]),
            let last = Int(words[3])
        else { throw Failure(usage) }
        let queue = CaptureQueue(
            TortureQueue.configuration(words[0]), executor: try EventLoop.start(name: "queue"))
        let workload = Workload(
            plan: Plan(seed: seed), queue: queue, world: WorldLine(input: 0, output: 1))
        do {
            try await workload.run(from: first, to: last)
        } catch {
            Lines.say("the run stopped: \(error)", to: STDERR_FILENO)
            exit(3)
        }
    }

    private static func torture(_ words: [String]) async throws -> Bool {
        var counts: [String: Int] = [:]
        var seed = UInt64.random(in: 1...999_999)
        var directory = "/tmp"
        var library: String?
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--read-only" {
                counts[word] = 1
                continue
            }
            guard let value = rest.popFirst() else { throw Failure(usage) }
            switch word {
            case "--seed": seed = UInt64(value) ?? seed
            case "--directory": directory = value
            case "--fault-library": library = value
            case "--kills", "--power-cuts", "--full-disks", "--disk-faults": counts[word] = Int(value) ?? 0
            default: throw Failure(usage)
            }
        }
        let scenes = Scenes(
            directory: directory, seed: seed, loop: try EventLoop.start(name: "queue"), faultLibrary: library)
        Lines.say("seed \(seed)", to: STDOUT_FILENO)
        var isWell = true
        if let count = counts["--kills"] { isWell = try await scenes.kills(count) && isWell }
        if let count = counts["--power-cuts"] { isWell = try await scenes.powerCuts(count) && isWell }
        if let count = counts["--full-disks"] { isWell = try await scenes.fullDisks(count) && isWell }
        if let count = counts["--disk-faults"] { isWell = try await scenes.diskFaults(count) && isWell }
        if counts["--read-only"] != nil { isWell = try await scenes.readOnly() && isWell }
        return isWell
    }
}
