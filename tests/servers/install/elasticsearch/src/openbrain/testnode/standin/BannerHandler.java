package openbrain.testnode.standin;

import java.io.IOException;
import java.util.List;

import org.elasticsearch.Build;
import org.elasticsearch.client.internal.node.NodeClient;
import org.elasticsearch.cluster.service.ClusterService;
import org.elasticsearch.index.IndexVersion;
import org.elasticsearch.rest.BaseRestHandler;
import org.elasticsearch.rest.RestRequest;
import org.elasticsearch.rest.RestResponse;
import org.elasticsearch.rest.RestStatus;
import org.elasticsearch.xcontent.XContentBuilder;

/** {@code GET /} and {@code HEAD /}: clients read the version there before anything else. */
final class BannerHandler extends BaseRestHandler {
    private final ClusterService cluster;

    BannerHandler(ClusterService cluster) {
        this.cluster = cluster;
    }

    @Override
    public String getName() {
        return "openbrain_banner";
    }

    @Override
    public List<Route> routes() {
        return List.of(new Route(RestRequest.Method.GET, "/"), new Route(RestRequest.Method.HEAD, "/"));
    }

    @Override
    protected RestChannelConsumer prepareRequest(RestRequest request, NodeClient client) {
        // A parameter nobody reads is refused; this one only asks for indentation.
        request.param("pretty");
        return channel -> channel.sendResponse(new RestResponse(RestStatus.OK, banner(channel.newBuilder())));
    }

    private XContentBuilder banner(XContentBuilder json) throws IOException {
        Build build = Build.current();
        return json.startObject()
            .field("name", cluster.getNodeName())
            .field("cluster_name", cluster.getClusterName().value())
            .field("cluster_uuid", cluster.state().metadata().clusterUUID())
            .startObject("version")
            .field("number", build.qualifiedVersion())
            .field("build_flavor", build.flavor())
            .field("build_type", build.type().displayName())
            .field("build_hash", build.hash())
            .field("build_date", build.date())
            .field("build_snapshot", build.isSnapshot())
            .field("lucene_version", IndexVersion.current().luceneVersion().toString())
            .field("minimum_wire_compatibility_version", build.minWireCompatVersion())
            .field("minimum_index_compatibility_version", build.minIndexCompatVersion())
            .endObject()
            .field("tagline", "You Know, for Search")
            .endObject();
    }
}
