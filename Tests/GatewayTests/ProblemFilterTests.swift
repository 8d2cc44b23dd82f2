import Gateway
import Testing

@Suite struct ProblemFilterTests {
    private static let start = ContinuousClock.now

    @Test func eachProblemIsToldOnceAndAgainAfterAnHour() {
        var filter = ProblemFilter()
        let told = [0, 900, 1800, 3599, 3600, 3700].map { seconds in
            let line = filter.note("object 1 is gone", at: Self.start + .seconds(seconds))
            _ = filter.endLink()
            return line
        }
        #expect(
            told == [
                "object 1 is gone", nil, nil, nil, "object 1 is gone (3 times more since it was told)", nil,
            ])
        #expect(filter.note("object 2 is gone", at: Self.start + .seconds(3700)) == "object 2 is gone")
    }

    @Test func aLinkHasSoManyLinesAndACount() {
        var filter = ProblemFilter()
        let lines = (0..<4096).compactMap { filter.note("object \($0)", at: Self.start) }
        #expect(lines.count == ProblemFilter.linesPerLink)
        #expect(filter.endLink() == "\(4096 - ProblemFilter.linesPerLink) more problems like these")
        #expect(filter.endLink() == nil)
        // The next link has room again, for what was not told yet.
        #expect(filter.note("object 0", at: Self.start) == nil)
        #expect(filter.note("object 4095", at: Self.start) == "object 4095")
    }

    @Test func whatComesBackIsNews() {
        var filter = ProblemFilter()
        #expect(filter.note("out of reach", at: Self.start) != nil)
        #expect(filter.note("out of reach", at: Self.start) == nil)
        filter.forget()
        #expect(filter.note("out of reach", at: Self.start) == "out of reach")
    }

    @Test func theMemoryIsBounded() {
        var filter = ProblemFilter()
        for number in 0...ProblemFilter.memory {
            _ = filter.note("\(number)", at: Self.start + .milliseconds(number))
            _ = filter.endLink()
        }
        // The oldest was forgotten, the newest was not.
        #expect(filter.note("\(ProblemFilter.memory)", at: Self.start + .seconds(1)) == nil)
        #expect(filter.note("0", at: Self.start + .seconds(1)) == "0")
    }
}
