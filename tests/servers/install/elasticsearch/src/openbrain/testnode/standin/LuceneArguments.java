package openbrain.testnode.standin;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

import org.elasticsearch.common.settings.Settings;

/** Settings as Elasticsearch names them, handed to Lucene under its own names. */
record LuceneArguments(List<Argument> known) {
    record Argument(String setting, String lucene, String preset) {}

    private static final Set<String> ALWAYS = Set.of("type", "version", "index");

    static LuceneArguments none() {
        return new LuceneArguments(List.of());
    }

    /** {@code preset} is Elasticsearch's default where Lucene has none; null leaves it to Lucene. */
    LuceneArguments with(String setting, String lucene, String preset) {
        var longer = new java.util.ArrayList<>(known);
        longer.add(new Argument(setting, lucene, preset));
        return new LuceneArguments(List.copyOf(longer));
    }

    /** A new map each time: Lucene's factories empty the one they are given. */
    Map<String, String> from(Settings settings) {
        refuseOthers(settings, known.stream().map(Argument::setting).toArray(String[]::new));
        Map<String, String> arguments = new HashMap<>();
        for (Argument argument : known) {
            String value = settings.get(argument.setting(), argument.preset());
            if (value != null) {
                arguments.put(argument.lucene(), value);
            }
        }
        return arguments;
    }

    /** A test must not pass with a setting that this node silently ignores. */
    static void refuseOthers(Settings settings, String... known) {
        Set<String> names = Set.of(known);
        for (String key : settings.keySet()) {
            String name = key.split("\\.", 2)[0];
            if (names.contains(name) == false && ALWAYS.contains(name) == false) {
                throw new IllegalArgumentException("the test node doesn't know the analysis setting [" + name + "]");
            }
        }
    }
}
