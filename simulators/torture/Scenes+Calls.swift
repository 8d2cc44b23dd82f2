import CaptureQueue
import FoundationEssentials
import Glibc

/// The scenes that go through calls one by one.
extension Scenes {
    /// Killed while a database of version 1, with sessions in every state, is brought to the newest: at each place that
    /// has a name, then before and after each call of the start, or as many of these as are wanted.
    func migrations(_ count: Int, olderQueue: String) async throws -> Bool {
        var tally = Tally("migrations", seed)
        let template = try place("template")
        var torture = Torture(template, seed: seed, setting: setting)
        for number in 0..<8 {
            torture.disturb()
            let outcome = try torture.run(number == 0 ? .none : torture.pickKill())
            if outcome.ending != .killed { tally.expect(.code(0), outcome.ending, "a run before") }
        }
        try Child.run("/usr/bin/python3", "-B", olderQueue, torture.state)
        let old = "\(directory)/trial"
        var kills = try places(torture, old)
        var generator = Generator(seed: seed)
        if count < kills.count { kills = Array(kills.shuffled(using: &generator).prefix(count)) }
        for (number, breakage) in kills.enumerated() where tally.isWell {
            try Child.run("rm", "-rf", old)
            try Child.run("cp", "-a", template, old)
            var trial = Torture(old, continuing: torture)
            let outcome = try trial.run(breakage, more: 0, isStartOnly: true)
            tally.met()
            // A migration that is taken up again may be killed as well.
            if number % 3 == 0 { _ = try trial.run(trial.pickKill(), more: 0, isStartOnly: true) }
            tally.report(try await trial.faults(outcome), breakage)
            if number % 10 == 0, tally.isWell { tally.report(try await trial.finish(), "after \(breakage)") }
        }
        remove(template)
        remove(old)
        return tally.say("kills of \(kills.count) places")
    }

    /// Every place of the start at which it can be killed.
    private func places(_ torture: Torture, _ directory: String) throws -> [Torture.Breakage] {
        try Child.run("cp", "-a", torture.directory, directory)
        var trial = Torture(directory, continuing: torture)
        let calls = try trial.run(.none, more: 0, isStartOnly: true).callsOfStart
        guard calls > 20 else { throw Failure("the start made only \(calls) calls") }
        // There are fewer named places than calls; one that is not reached ends with the first word, which is a kill too.
        return (1...calls / 4).map { .failpoint($0) }
            + (1...calls).flatMap { [.call("any", $0, "kill-before"), .call("any", $0, "kill-after")] }
    }

    /// Each call of each kind fails once, or is cut short, in a fresh life or in the recovery from a kill.
    func diskFaults(_ count: Int) async throws -> Bool {
        var tally = Tally("disk faults", seed)
        var generator = Generator(seed: seed)
        let all = try faults()
        let tried = all.shuffled(using: &generator).prefix(count)
        for (number, fault) in tried.enumerated() where tally.isWell {
            var torture = Torture(try place("faults"), seed: seed, setting: setting)
            if number % 3 == 2 {
                _ = try torture.run(torture.pickKill(), more: Self.capturesOfFault)
            }
            let outcome = try torture.run(fault, more: torture.captures == 0 ? Self.capturesOfFault : 0)
            tally.expectStop(outcome.ending, fault)
            if outcome.report.struck { tally.met(inTheMiddle: outcome.ending != .code(0)) }
            tally.report(try await torture.faults(outcome), fault)
            if tally.isWell { tally.report(try await torture.finish(more: 0), "after \(fault)") }
            remove(torture.directory)
        }
        return tally.say(
            "met in \(tried.count) trials of \(all.count); \(tally.inTheMiddle) of them stopped a run")
    }

    private static let capturesOfFault = 4

    /// Every call of a whole life, with every way in which it can fail.
    private func faults() throws -> [Torture.Breakage] {
        var torture = Torture(try place("faults"), seed: seed, setting: setting)
        let outcome = try torture.run(.none, more: Self.capturesOfFault)
        guard outcome.ending == .code(0) else { throw Failure("a whole life ended with \(outcome.ending)") }
        var faults: [Torture.Breakage] = []
        for (point, count) in outcome.report.passed.sorted(by: { $0.key < $1.key }) where point != "any" {
            for action in Self.actions(String(point.split(separator: "/")[0])) {
                faults += (1...count).map { .call(point, $0, action) }
            }
        }
        return faults
    }

    private static func actions(_ operation: String) -> [String] {
        switch operation {
        case "write": ["EIO", "ENOSPC", "short"]
        case "read": ["EIO", "short"]
        case "create", "mkdir", "link", "fallocate": ["EIO", "ENOSPC"]
        default: ["EIO"]
        }
    }
}
