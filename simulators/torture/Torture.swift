import CaptureQueue
import EventLoop
import Glibc

/// A world, a queue, and trial after trial: run, break, look.
struct Torture {
    let directory: String
    let seed: UInt64
    let loop: EventLoop
    private(set) var world = World()
    private(set) var kills = 0
    private(set) var runs = 0
    private var captures = 0
    private var generator: Generator
    /// How many places a whole run passes: known after the first.
    private var places = 200

    var state: String { directory + "/state" }
    private var plan: Plan { Plan(seed: seed) }

    init(_ directory: String, seed: UInt64, loop: EventLoop) {
        self.directory = directory
        self.seed = seed
        self.loop = loop
        generator = Generator(seed: seed ^ 0xC0FF_EE)
    }

    /// How one run is to be broken.
    enum Breakage {
        case none
        /// At the N-th place of the program.
        case place(Int)
        /// At the N-th request: before the world has heard of it, or after it did what was asked and before it says so.
        case request(Int, isDone: Bool)
        /// A fault of the disk, as simulators/torture/faults.c makes them.
        case fault(String, library: String)
    }

    mutating func pickKill() -> Breakage {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0..<7: .place(Int.random(in: 1...places, using: &generator))
        case 7: .request(Int.random(in: 1...30, using: &generator), isDone: false)
        default: .request(Int.random(in: 1...30, using: &generator), isDone: true)
        }
    }

    mutating func pick(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &generator) }

    /// One more capture, and one run that is broken so. Returns the exit code of a run that was not killed.
    mutating func run(_ breakage: Breakage, more: Int = 1) throws -> Int32? {
        captures += more
        runs += 1
        var environment: [String: String] = [:]
        if case .place(let number) = breakage { environment["CELESTIAD_FAILPOINT"] = "any:\(number)" }
        if case .fault(let fault, let library) = breakage {
            environment["LD_PRELOAD"] = library
            environment["TORTURE_FAULT"] = fault
            environment["TORTURE_DIRECTORY"] = state
        }
        // What is long done with is looked at by the oracle, not done again.
        let first = max(1, captures - 12)
        let child = try Child.start(
            ["work", state, String(seed), String(first), String(captures)], environment: environment)
        var requests = 0
        while let line = Lines.next(child.output) {
            requests += 1
            if case .request(requests, let isDone) = breakage {
                if isDone { _ = world.handle(line) }
                child.end()
                break
            }
            child.answer(world.handle(line))
        }
        let code = child.wait()
        if code == nil { kills += 1 }
        return code
    }

    /// What is wrong now.
    func faults() async -> [String] {
        await Oracle(directory: state, loop: loop).judge(world)
    }

    /// Finishes whatever is left, unbroken; then everything must be in the cloud or discarded.
    mutating func finish() async throws -> [String] {
        captures += 1
        let child = try Child.start(["work", state, String(seed), "1", String(captures)], environment: [:])
        while let line = Lines.next(child.output) { child.answer(world.handle(line)) }
        guard child.wait() == 0 else { return ["the last run did not come to its end"] }
        return await Oracle(directory: state, loop: loop).judge(world, isFinal: true)
    }
}
