package openbrain.testnode.standin;

import java.util.Map;

import org.apache.lucene.analysis.Tokenizer;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.index.analysis.AbstractTokenizerFactory;
import org.elasticsearch.index.analysis.TokenizerFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;

final class Tokenizers {
    static Map<String, AnalysisProvider<TokenizerFactory>> all() {
        return Map.of(
            "keyword", lucene("keyword", LuceneArguments.none()),
            "whitespace", lucene("whitespace", LuceneArguments.none()),
            "pattern", lucene("pattern", LuceneArguments.none().with("pattern", "pattern", "\\W+").with("group", "group", "-1")),
            "edge_ngram", lucene("edgeNGram", LuceneArguments.none().with("min_gram", "minGramSize", "1").with("max_gram", "maxGramSize", "2"))
        );
    }

    private static AnalysisProvider<TokenizerFactory> lucene(String lucene, LuceneArguments arguments) {
        return (index, environment, name, settings) -> new FromLucene(name, lucene, arguments, settings);
    }

    private static final class FromLucene extends AbstractTokenizerFactory {
        private final org.apache.lucene.analysis.TokenizerFactory factory;

        FromLucene(String name, String lucene, LuceneArguments arguments, Settings settings) {
            super(name);
            factory = org.apache.lucene.analysis.TokenizerFactory.forName(lucene, arguments.from(settings));
        }

        @Override
        public Tokenizer create() {
            return factory.create();
        }
    }

    private Tokenizers() {}
}
