package openbrain.testnode;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

import org.elasticsearch.common.logging.LogConfigurator;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.node.InternalSettingsPreparer;
import org.elasticsearch.node.Node;
import org.elasticsearch.plugins.PluginsLoader;

/** One Elasticsearch node in this process: {@code Launcher HOME DATA PORT}. Ends cleanly on SIGTERM. */
public final class Launcher {
    private static final String NODE = "openbrain-test";
    private static final String LOGGING = """
        status = error
        appender.out.type = Console
        appender.out.name = out
        appender.out.layout.type = PatternLayout
        appender.out.layout.pattern = %d{ISO8601} %-5p %c{1.} %m%consoleException%n
        rootLogger.level = warn
        rootLogger.appenderRef.out.ref = out
        """;

    public static void main(String[] args) throws Exception {
        Path home = Path.of(args[0]).toAbsolutePath();
        Path data = Path.of(args[1]).toAbsolutePath();
        Node node = build(home, data, args[2]);
        CountDownLatch stopped = new CountDownLatch(1);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> close(node, stopped), "close"));
        node.start();
        stopped.await();
    }

    private static Node build(Path home, Path data, String port) throws IOException {
        Path config = Files.createDirectories(data.resolve("config"));
        Path logs = Files.createDirectories(data.resolve("logs"));
        // Without a logging file in its config folder the node refuses to start.
        Files.writeString(config.resolve("log4j2.properties"), LOGGING);
        Settings settings = Settings.builder()
            .put("path.home", home.toString())
            .put("path.data", data.resolve("indices").toString())
            .put("path.logs", logs.toString())
            .put("path.repo", data.resolve("snapshots").toString())
            .put("cluster.name", NODE)
            .put("node.name", NODE)
            .put("discovery.type", "single-node")
            .put("network.host", "127.0.0.1")
            .put("http.port", port)
            .put("transport.port", "0")
            // A nearly full disk of the machine must not make the indices of a test read-only.
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .build();
        LogConfigurator.registerErrorListener();
        LogConfigurator.setNodeName(NODE);
        LogConfigurator.configureESLogging();
        Environment environment = InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), config, () -> NODE);
        LogConfigurator.configure(environment, true);
        return new Node(environment, PluginsLoader.createPluginsLoader(
            PluginsLoader.loadModulesBundles(environment.modulesDir(), false),
            PluginsLoader.loadPluginsBundles(environment.pluginsDir(), false),
            Map.of()
        ));
    }

    private static void close(Node node, CountDownLatch stopped) {
        try {
            node.prepareForClose();
            node.close();
            node.awaitClose(10, TimeUnit.SECONDS);
        } catch (IOException | InterruptedException e) {
            e.printStackTrace();
        } finally {
            stopped.countDown();
        }
    }

    private Launcher() {}
}
