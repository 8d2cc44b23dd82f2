/// Where metrics go.
package struct MetricsConfiguration: Sendable, Equatable {
    /// The file for node_exporter's textfile collector; nil for none.
    package var file: String?
    /// How often it is written.
    package var interval = Duration.seconds(60)
    /// Where metrics are served; nil: nowhere.
    package var address: MetricsAddress?

    package init() {}
}
