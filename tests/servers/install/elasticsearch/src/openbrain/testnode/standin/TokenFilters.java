package openbrain.testnode.standin;

import java.util.HashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.UnaryOperator;

import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.en.EnglishMinimalStemFilter;
import org.apache.lucene.analysis.en.EnglishPossessiveFilter;
import org.apache.lucene.analysis.en.KStemFilter;
import org.apache.lucene.analysis.en.PorterStemFilter;
import org.apache.lucene.analysis.miscellaneous.SetKeywordMarkerFilter;
import org.apache.lucene.analysis.snowball.SnowballFilter;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.index.analysis.AbstractTokenFilterFactory;
import org.elasticsearch.index.analysis.NormalizingTokenFilterFactory;
import org.elasticsearch.index.analysis.TokenFilterFactory;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;

final class TokenFilters {
    private interface Maker extends Function<Settings, UnaryOperator<TokenStream>> {}

    static Map<String, AnalysisProvider<TokenFilterFactory>> all() {
        LuceneArguments none = LuceneArguments.none();
        LuceneArguments original = none.with("preserve_original", "preserveOriginal", "false");
        LuceneArguments grams = original.with("min_gram", "minGramSize", "1").with("max_gram", "maxGramSize", "2");
        Map<String, AnalysisProvider<TokenFilterFactory>> filters = new HashMap<>();
        filters.put("lowercase", normalizing(lucene("lowercase", none)));
        filters.put("asciifolding", normalizing(lucene("asciiFolding", original)));
        filters.put("trim", normalizing(lucene("trim", none)));
        filters.put("length", plain(lucene("length", none.with("min", "min", "0").with("max", "max", "2147483647"))));
        filters.put("ngram", plain(lucene("nGram", grams)));
        filters.put("edge_ngram", plain(lucene("edgeNGram", grams)));
        filters.put("remove_duplicates", plain(lucene("removeDuplicates", none)));
        filters.put("flatten_graph", plain(lucene("flattenGraph", none)));
        filters.put("word_delimiter_graph", plain(lucene("wordDelimiterGraph", none)));
        filters.put("porter_stem", plain(lucene("porterStem", none)));
        filters.put("kstem", plain(lucene("kStem", none)));
        filters.put("snowball", plain(lucene("snowballPorter", none.with("language", "language", "English"))));
        filters.put("stemmer", plain(TokenFilters::stemmer));
        filters.put("keyword_marker", plain(TokenFilters::keywords));
        return filters;
    }

    private static Maker lucene(String name, LuceneArguments arguments) {
        return settings -> org.apache.lucene.analysis.TokenFilterFactory.forName(name, arguments.from(settings))::create;
    }

    private static UnaryOperator<TokenStream> stemmer(Settings settings) {
        LuceneArguments.refuseOthers(settings, "language", "name");
        String language = settings.get("language", settings.get("name", "english"));
        return switch (language) {
            case "english", "porter" -> PorterStemFilter::new;
            case "porter2" -> stream -> new SnowballFilter(stream, "English");
            case "light_english" -> KStemFilter::new;
            case "minimal_english" -> EnglishMinimalStemFilter::new;
            case "possessive_english" -> EnglishPossessiveFilter::new;
            default -> throw new IllegalArgumentException("the test node has no stemmer for [" + language + "]");
        };
    }

    private static UnaryOperator<TokenStream> keywords(Settings settings) {
        LuceneArguments.refuseOthers(settings, "keywords", "ignore_case");
        CharArraySet kept = new CharArraySet(settings.getAsList("keywords"), settings.getAsBoolean("ignore_case", false));
        return stream -> new SetKeywordMarkerFilter(stream, kept);
    }

    private static AnalysisProvider<TokenFilterFactory> plain(Maker maker) {
        return (index, environment, name, settings) -> new Plain(name, maker.apply(settings));
    }

    private static AnalysisProvider<TokenFilterFactory> normalizing(Maker maker) {
        return (index, environment, name, settings) -> new Normalizing(name, maker.apply(settings));
    }

    private static class Plain extends AbstractTokenFilterFactory {
        private final UnaryOperator<TokenStream> wrap;

        Plain(String name, UnaryOperator<TokenStream> wrap) {
            super(name);
            this.wrap = wrap;
        }

        @Override
        public TokenStream create(TokenStream stream) {
            return wrap.apply(stream);
        }
    }

    /** Only filters that say so may stand in the normalizer of a keyword field. */
    private static final class Normalizing extends Plain implements NormalizingTokenFilterFactory {
        Normalizing(String name, UnaryOperator<TokenStream> wrap) {
            super(name, wrap);
        }
    }

    private TokenFilters() {}
}
