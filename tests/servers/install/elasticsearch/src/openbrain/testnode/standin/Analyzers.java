package openbrain.testnode.standin;

import java.util.Map;

import org.apache.lucene.analysis.Analyzer;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.en.EnglishAnalyzer;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.env.Environment;
import org.elasticsearch.index.analysis.AbstractIndexAnalyzerProvider;
import org.elasticsearch.index.analysis.Analysis;
import org.elasticsearch.index.analysis.AnalyzerProvider;
import org.elasticsearch.indices.analysis.AnalysisModule.AnalysisProvider;

final class Analyzers {
    static Map<String, AnalysisProvider<AnalyzerProvider<? extends Analyzer>>> all() {
        return Map.of("english", (index, environment, name, settings) -> new English(name, environment, settings));
    }

    private static final class English extends AbstractIndexAnalyzerProvider<EnglishAnalyzer> {
        private final EnglishAnalyzer analyzer;

        English(String name, Environment environment, Settings settings) {
            super(name);
            LuceneArguments.refuseOthers(settings, "stopwords", "stem_exclusion");
            analyzer = new EnglishAnalyzer(
                Analysis.parseStopWords(environment, settings, EnglishAnalyzer.getDefaultStopSet()),
                Analysis.parseStemExclusion(settings, CharArraySet.EMPTY_SET)
            );
        }

        @Override
        public EnglishAnalyzer get() {
            return analyzer;
        }
    }

    private Analyzers() {}
}
