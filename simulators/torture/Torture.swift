import CaptureQueue
import EventLoop
import Glibc

/// A world, a queue, and trial after trial: run, break, look at a copy, and go on from the wreck.
struct Torture {
    /// What is the same for every trial.
    struct Setting: Sendable {
        /// For what is made on the way; not on the disk that is broken.
        let scratch: String
        /// Tests/Torture/faults.c, built.
        let library: String
        let loop: EventLoop
    }

    /// How one run is to be broken.
    enum Breakage: CustomStringConvertible {
        case none
        /// At the N-th place of the program that has a name.
        case failpoint(Int)
        /// At a system call, in the words of faults.c.
        case call(String, Int, String)
        /// At the N-th message: before the world has heard it, or after it did what was asked and before it says so.
        case message(Int, isDone: Bool)

        var description: String {
            switch self {
            case .none: "unbroken"
            case .failpoint(let number): "failpoint \(number)"
            case .call(let point, let number, let action): "\(action) at \(point) \(number)"
            case .message(let number, let isDone): "\(isDone ? "after" : "before") message \(number)"
            }
        }
    }

    /// What became of a run.
    struct Outcome {
        let ending: Child.Ending
        let report: Report
        /// Calls that had been made when it first spoke: those of the start.
        let callsOfStart: Int
    }

    private(set) var directory: String
    let setting: Setting
    let plan: Plan
    var world: World
    private(set) var kills = 0
    private(set) var runs = 0
    private(set) var captures = 0
    private var generator: Generator
    /// How many calls a whole run makes, how many of them before it speaks, and how many failpoints it passes.
    private(set) var calls = 1500
    private var callsOfStart = 150

    var state: String { directory + "/state" }
    private var reportFile: String { setting.scratch + "/report" }

    init(_ directory: String, seed: UInt64, setting: Setting) {
        self.directory = directory
        self.setting = setting
        plan = Plan(seed: seed)
        world = World(plan: plan)
        generator = Generator(seed: seed ^ 0xC0FF_EE)
    }

    /// Another torture's world, with a copy of what it left.
    init(_ directory: String, continuing other: Torture) {
        self = other
        self.directory = directory
    }

    mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    mutating func pickElement<Element>(_ elements: [Element]) -> Element {
        elements[pick(0...elements.count - 1)]
    }

    /// A place for the next kill. Every third is within the start, which after a kill is a recovery.
    mutating func pickKill(_ actions: [String] = ["kill-before", "kill-after"]) -> Breakage {
        switch pick(0...9) {
        case 0...2: .call("any", pick(1...callsOfStart), pickElement(actions))
        case 3...5: .call("any", pick(1...calls), pickElement(actions))
        case 6: .failpoint(pick(1...max(1, calls / 4)))
        default: .message(pick(1...60), isDone: pick(0...2) > 0)
        }
    }

    /// What the world does on its own before a run: tokens expire, bits flip.
    mutating func disturb() {
        if pick(0...2) == 0 { for host in Plan.hosts { world.clouds[host]?.tokens.expire() } }
        let candidates = world.acknowledged.filter { id, taken in
            plan.fate(taken.number) == .rotting && !world.rotten.contains(id) && !isInCloud(taken.sha256)
        }
        guard let (id, taken) = candidates.min(by: { $0.key.text < $1.key.text }), pick(0...1) == 0 else {
            return
        }
        if flip("\(state)/spool/\(taken.session)/\(id)") { world.rotten.insert(id) }
    }

    private func isInCloud(_ sha256: String) -> Bool {
        world.clouds.values.contains { $0.digests.contains(sha256) }
    }

    /// One bit in the middle, as a bad disk has it; false where there is no such file.
    private func flip(_ path: String) -> Bool {
        let file = open(path, O_RDWR | O_CLOEXEC)
        guard file >= 0 else { return false }
        defer { close(file) }
        let middle = lseek(file, 0, SEEK_END) / 2
        var byte: UInt8 = 0
        guard pread(file, &byte, 1, middle) == 1 else { return false }
        byte ^= 4
        return pwrite(file, &byte, 1, middle) == 1 && fsync(file) == 0
    }

    /// `more` captures more, and one run that is broken so. A run that may only begin ends with its first word.
    mutating func run(
        _ breakage: Breakage, more: Int = 1, isStartOnly: Bool = false, from first: Int? = nil
    ) throws -> Outcome {
        captures += more
        runs += 1
        try Report.prepare(reportFile)
        // What is long done with is looked at by the oracle, not done again.
        let first = first ?? max(1, captures - 12)
        let child = try Child.start(
            ["work", directory, String(plan.seed), String(first), String(captures)],
            environment: environment(breakage))
        var messages = 0
        var spoke = 0
        while let message = World.Message(child.output) {
            messages += 1
            if messages == 1 { spoke = try Report(reportFile).passed["any"] ?? 0 }
            if isStartOnly {
                child.end()
                break
            }
            if case .message(messages, let isDone) = breakage {
                if isDone { _ = world.handle(message) }
                child.end()
                break
            }
            child.answer(world.handle(message))
        }
        let outcome = Outcome(ending: child.wait(), report: try Report(reportFile), callsOfStart: spoke)
        if outcome.ending == .killed { kills += 1 }
        if outcome.ending == .code(0), let passed = outcome.report.passed["any"] {
            (calls, callsOfStart) = (max(100, passed), max(20, spoke))
        }
        return outcome
    }

    private func environment(_ breakage: Breakage) -> [String: String] {
        var environment = [
            "LD_PRELOAD": setting.library, "TORTURE_ROOT": directory, "TORTURE_REPORT": reportFile,
        ]
        switch breakage {
        case .none, .message: break
        case .failpoint(let number): environment["CELESTIAD_FAILPOINT"] = "any:\(number)"
        case .call(let point, let number, let action):
            environment["TORTURE_FAULT"] = "\(point) \(number) \(action)"
        }
        return environment
    }

    /// What is wrong now. Looks at a copy, so that the next run finds what this one has left.
    mutating func faults(_ outcome: Outcome, isFinal: Bool = false) async throws -> [String] {
        let copy = setting.scratch + "/judged"
        try Child.run("rm", "-rf", copy)
        try Child.run("cp", "-a", directory, copy)
        let (faults, imported) = await Oracle(directory: copy, loop: setting.loop).judge(
            world, isFinal: isFinal)
        world.imported.formUnion(imported)
        return outcome.report.disorder.map { "the order of durability: \($0)" } + faults
    }

    /// Finishes whatever is left, unbroken; then everything must be in the cloud or discarded.
    mutating func finish(more: Int = 1) async throws -> [String] {
        let outcome = try run(.none, more: more, from: 1)
        guard outcome.ending == .code(0) else { return ["the last run: \(outcome.ending)"] }
        return try await faults(outcome, isFinal: true)
    }
}
