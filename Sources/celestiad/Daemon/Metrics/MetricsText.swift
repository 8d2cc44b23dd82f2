/// One metric with its samples, in Prometheus' terms.
struct MetricFamily: Sendable, Hashable {
    enum Kind: String, Sendable {
        case gauge, counter
    }

    struct Sample: Sendable, Hashable {
        var labels: [(name: String, value: String)] = []
        var value: Double

        static func == (left: Sample, right: Sample) -> Bool {
            left.value == right.value && left.labels.elementsEqual(right.labels, by: ==)
        }

        func hash(into hasher: inout Hasher) {
            hasher.combine(value)
            for label in labels { hasher.combine(label.value) }
        }
    }

    /// With `celestiad_` before it, the unit and, for a counter, `_total` behind.
    let name: String
    let kind: Kind
    let help: String
    var samples: [Sample] = []

    init(_ name: String, _ help: String, kind: Kind = .gauge) {
        self.name = "celestiad_\(name)"
        self.kind = kind
        self.help = help
    }

    mutating func add(_ value: Double?, _ labels: (name: String, value: String)...) {
        guard let value, value.isFinite else { return }
        samples.append(Sample(labels: labels, value: value))
    }

    mutating func add(_ value: (some BinaryInteger)?, _ labels: (name: String, value: String)...) {
        guard let value else { return }
        samples.append(Sample(labels: labels, value: Double(value)))
    }

    mutating func add(_ value: Bool, _ labels: (name: String, value: String)...) {
        samples.append(Sample(labels: labels, value: value ? 1 : 0))
    }
}

/// Metrics in Prometheus' text format 0.0.4. Pure.
enum MetricsText {
    static let contentType = "text/plain; version=0.0.4; charset=utf-8"

    /// Families without a sample are left out.
    static func text(_ families: [MetricFamily]) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty {
            let help = family.help.replacing("\\", with: "\\\\").replacing("\n", with: "\\n")
            text += "# HELP \(family.name) \(help)\n# TYPE \(family.name) \(family.kind.rawValue)\n"
            for sample in family.samples {
                text += family.name + labels(sample.labels) + " " + number(sample.value) + "\n"
            }
        }
        return text
    }

    private static func labels(_ labels: [(name: String, value: String)]) -> String {
        guard !labels.isEmpty else { return "" }
        let pairs = labels.map { label in
            let value = label.value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
                .replacing("\n", with: "\\n")
            return "\(label.name)=\"\(value)\""
        }
        return "{\(pairs.joined(separator: ","))}"
    }

    /// Whole numbers without a fraction.
    private static func number(_ value: Double) -> String {
        Int64(exactly: value).map { String($0) } ?? String(value)
    }
}
