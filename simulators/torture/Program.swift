import CaptureQueue
import EventLoop
import FoundationEssentials
import Glibc

/// Breaks the capture queue in every way that can be had and looks whether a byte was lost, doubled or claimed.
@main
enum Program {
    static func main() async {
        signal(SIGPIPE, SIG_IGN)
        let words = Array(CommandLine.arguments.dropFirst())
        do {
            if words.first == "work" {
                try await work(Array(words.dropFirst()))
            } else {
                exit(try await torture(try Arguments(words)) ? 0 : 1)
            }
        } catch {
            Lines.say("celestia-torture: \(error)", to: STDERR_FILENO)
            exit(2)
        }
    }

    private static func work(_ words: [String]) async throws {
        guard words.count == 4, let seed = UInt64(words[1]), let first = Int(words[2]),
            let last = Int(words[3])
        else { throw Failure(Arguments.usage) }
        let queue = CaptureQueue(
            TortureQueue.configuration(words[0]), executor: try EventLoop.start(name: "queue"))
        let world = WorldLine(try EventLoop.start(name: "world"))
        let workload = Workload(
            plan: Plan(seed: seed), queue: queue, world: world,
            uploads: Uploads(queue: queue, world: world, directory: words[0]))
        do {
            try await workload.run(from: first, to: last)
        } catch {
            Lines.say("the run stopped: \(error)", to: STDERR_FILENO)
            exit(3)
        }
    }

    private static func torture(_ arguments: Arguments) async throws -> Bool {
        let directory = arguments.directory + "/\(getpid())"
        guard mkdir(directory, 0o700) == 0, mkdir(directory + "/scratch", 0o700) == 0 else {
            throw Failure("\(directory) cannot be made")
        }
        defer { try? Child.run("rm", "-rf", directory) }
        let setting = Torture.Setting(
            scratch: directory + "/scratch", library: arguments.library,
            loop: try EventLoop.start(name: "queue"))
        let scenes = Scenes(directory: directory, seed: arguments.seed, setting: setting)
        Lines.say("seed \(arguments.seed)", to: STDOUT_FILENO)
        var isWell = true
        for scene in arguments.scenes {
            switch scene {
            case .kills(let count): isWell = try await scenes.kills(count) && isWell
            case .migrations(let count):
                isWell = try await scenes.migrations(count, olderQueue: arguments.olderQueue) && isWell
            case .powerCuts(let count): isWell = try await scenes.powerCuts(count) && isWell
            case .fullDisks(let count): isWell = try await scenes.fullDisks(count) && isWell
            case .diskFaults(let count): isWell = try await scenes.diskFaults(count) && isWell
            case .readOnly: isWell = try await scenes.readOnly() && isWell
            }
        }
        return isWell
    }
}

/// What is asked for. A word that is not understood is never taken for another.
struct Arguments {
    enum Scene {
        case kills(Int)
        case migrations(Int)
        case powerCuts(Int)
        case fullDisks(Int)
        case diskFaults(Int)
        case readOnly
    }

    static let usage = """
        usage: celestia-torture [--kills N] [--migrations N] [--power-cuts N] [--full-disks N] [--disk-faults N]
                                [--read-only] [--seed N] --directory DIR --fault-library FILE --older-queue FILE
        """

    private(set) var scenes: [Scene] = []
    private(set) var seed = UInt64.random(in: 1...999_999)
    private(set) var directory = ""
    private(set) var library = ""
    private(set) var olderQueue = ""

    init(_ words: [String]) throws {
        var rest = words[...]
        while let word = rest.popFirst() {
            if word == "--read-only" {
                scenes.append(.readOnly)
                continue
            }
            guard let value = rest.popFirst() else { throw Failure(Self.usage) }
            switch word {
            case "--seed": seed = try Self.number(value, word)
            case "--directory": directory = value
            case "--fault-library": library = value
            case "--older-queue": olderQueue = value
            case "--kills": scenes.append(.kills(try Self.number(value, word)))
            case "--migrations": scenes.append(.migrations(try Self.number(value, word)))
            case "--power-cuts": scenes.append(.powerCuts(try Self.number(value, word)))
            case "--full-disks": scenes.append(.fullDisks(try Self.number(value, word)))
            case "--disk-faults": scenes.append(.diskFaults(try Self.number(value, word)))
            default: throw Failure(Self.usage)
            }
        }
        let fileManager = FileManager.default
        guard !scenes.isEmpty, [directory, library, olderQueue].allSatisfy(fileManager.fileExists(atPath:))
        else {
            throw Failure(Self.usage)
        }
    }

    private static func number<Number: FixedWidthInteger>(_ text: String, _ word: String) throws -> Number {
        guard let number = Number(text), number > 0 else {
            throw Failure("\(word): \(text) is not a number above 0")
        }
        return number
    }
}
