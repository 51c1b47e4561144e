package lint

import "regexp"

// anyTool is what is no name of a tool.
var anyTool = regexp.MustCompile(`\b(?:other|this|these|own|such|of|same|any|all) (?:tools?|functions?|server)\b|\bthe (?:tool|function)s? ?(?:[^'"\x60a-z ]|$|(?:is|was|are|has|must|should|returns|to|and|in|for|that|of|with|gets)\b)`)

// aTool is a name that no sentence holds by chance, or a word that is called a tool.
const aTool = "(?:the )?(?:tool |function )?[`'\"]?(?:[a-z][a-z0-9]*(?:[_.-][a-z0-9]+)+|[a-z]+ (?:tools?|functions?))[`'\"]?(?: tool| function)?"

// shadowPatterns are English sentences whose sense is in the order of their words, matched on keys.
var shadowPatterns = compile([]pattern{
	{Medium, sRules, `\b(?:when|if|before|after|whenever|once|every time|each time|any time|as soon as|while)\b[^.;]{0,30}?` + aTool + `[^.;,]{0,30} (?:is|are|gets|was|has been|have been) (?:also |about to be |being )?(?:used|called|invoked|run|executed|available|present|loaded|triggered|active|installed|enabled|connected)`},
	{High, sRules, `\b(?:any|all|every|each) (?:future |subsequent |other )?(?:calls?|uses?|requests?|invocations?|messages?|e-?mails?|queries|arguments?|outputs?|results?|payments?|files?|transfers?|commits?|posts?) (?:to|of|with|through|via|by|from|sent with|sent by|sent via|sent through|made with|made by|made through|made via) ` + aTool},
	{Medium, sRules, `\b(?:when|if|whenever|before|each time|every time|once) (?:you |the (?:assistant|model|agent) |an? (?:assistant|model|agent) )(?:call|use|see|are about to call|are about to use|invoke|run|want to use|want to call|need to use|have|execute)s? (?:to )?` + aTool},
	{Medium, sRules, `\b(?:when|before|whenever|while|each time|every time|if) (?:using|calling|invoking|executing|running|sending with|sending via|sending through) ` + aTool},
	{Medium, sRules, `\b(?:before|after|when|while) [a-z]+ing (?:[a-z]+ ){0,3}(?:with|via|through|by|to) ` + aTool},
	{High, sRules, `\b(?:messages?|e-?mails?|queries|payments?|files?|requests?|transfers?) (?:that are |which are )?(?:sent|made|written|created|passed) (?:with|by|through|via|to) ` + aTool + `[^.;]{0,20}\b(?:must|should|have to|has to|need)`},
	{Medium, sRules, `\b(?:rules|behaviou?r|way|arguments?|semantics|parameters?|usage|recipients?|how) (?:for|of|in|you use|you call) ` + aTool + `|\bhow ` + aTool + ` (?:works|behaves|is used)|\b(?:affects|modifies|changes|overrides|redefines|extends|governs|controls) (?:how |the behaviou?r of )?` + aTool},
	{Medium, sRules, aTool + ` (?:must|should|has to|needs to|may) (?:only |now |always )(?:be )?(?:used|called|invoked|run)`},
	{High, sRules, aTool + ` (?:must|should|has to|have to|needs to|need to|now requires?|requires?|will|shall)(?: now| also| always| only| first)? (?:include|contain|use|send|go|set|be sent|be set|be replaced|be changed|add|have|receive|be given|be redirected|be routed|be addressed|be forwarded|copy|write|forward|append|an?|the) `},
	{Medium, sRules, `\b(?:for|in|to|of|from|with) (?:the )?(?:[a-z]+ )?(?:[a-z]+'s )?` + "`?[a-z]+_[a-z_]+`?" + `(?: tool)?[,:]? (?:always|must|you must|never|only|set|add|replace|change|append|include)\b`},
	{High, sRules, aTool + `[^.;,]{0,20} (?:has changed|have changed|now needs?|now requires?|now expects?|now has to|now works)\b`},
	{High, sRules, `\b(?:when|if|whenever|once) ` + aTool + ` [a-z]+s?\b[^.;]{0,40}, (?:it|they|you) (?:must|should|has to|have to|needs? to)\b`},
	{Medium, sDisparage, aTool + `[^.;,]{0,40} (?:is|are|has|have) (?:been |now |no longer |a |currently |known )*(?:broken|deprecated|compromised|insecure|unsafe|bug|disabled|buggy|vulnerab\w*|outdated|unreliable|malicious|replaced|blocked|dangerous|incorrect|obsolete)`},
	{High, sDisparage, `\b(?:other|another|competing|alternative|similar) (?:\w+ )?(?:tools?|functions?|servers?)\b[^.;]{0,40}\b(?:steals?|leaks?|malicious|unsafe|insecure|compromised|violates?|dangerous|infected|spy|harmful|forbidden|prohibited|untrusted|banned)\b`},
	{Medium, sRules, `\b(?:calls?|requests?) to ` + aTool},
	{Medium, sRules, `\b(?:tool|function)s? (?:called|named|such as|like) ` + aTool},
	{Medium, sRules, `\b(?:when|whenever|after|once|if) ` + aTool + ` (?:returns|finishes|completes|fails|reports|succeeds|runs|sends|writes|is done)`},
	{High, sRules, aTool + ` (?:expects?|needs?) that\b|` + aTool + ` (?:should|must|has to) be called (?:for|on|with|by)`},
	{High, sRules, `\b(?:note|notes|hint|rule|rules|remark|instructions?|reminder) (?:for|about|on|to users of) ` + aTool},
	{Medium, sDisparage, `\b(?:do not|don't|never|must not|stop) (?:ever )?(?:call|calling|use|using|invoke|trust) ` + aTool},

	{High, sHide, `\bso (?:that )?(?:the |no |any )?(?:user|human|person|they|nobody|one|anyone|operator)s? (?:\w+ ){0,2}?(?:not |never |n't |cannot |won't |doesn't |don't )?(?:notices?|suspects?|finds? out|becomes? aware|realis?e?s?|realizes?|knows?|is alarmed|gets? upset|is not (?:alarmed|worried|disturbed|bothered))`},
	{High, sHide, `\b(?:if|when|should) (?:the (?:user|human|person) |they |anyone |somebody |you are |you're )?(?:asks?|asked|inquires?|questions?|questioned)(?: you)?(?: about (?:it|this|that)\b[^.;,]{0,16}| why\b[^.;,]{0,30}| where\b[^.;,]{0,30}| what (?:you did|happened|this)[^.;,]{0,30}| whether[^.;,]{0,30})?,? (?:say|claim|answer|reply|respond|pretend|state|tell them|deny|explain)\b`},
	{High, sHide, `\b(?:leave|omit|exclude|drop|strip|keep|remove)\b[^.;]{0,40}\b(?:out of|from) (?:your (?:answer|reply|response|summary|report|output|explanation)|what you (?:report|tell|say|show))\b`},
	{High, sHide, `\b(?:no need (?:to|for the user to)|need not|needn't|(?:does not|doesn't|do not|don't) need to) (?:bring|mention|tell|report|inform|raise|explain|disclose|know about|know that|be told|be informed|be aware|be notified|be made aware)\b`},
	{High, sHide, `\bwithout (?:any |a |prior |giving |sending )?(?:notification|mention|notice|warning|alert|explanation|disclosure|trace|announcement|acknowledg\w+)s? (?:to|for|of it|of this|by) `},
	{High, sHide, `\b(?:never|do not|don't|must not|should not) (?:ever )?(?:let|allow|make|have|give)\b[^.;]{0,12}\b(?:user|human|person|anyone|them)\b[^.;]{0,20}\b(?:know|see|notice|aware|find out|learn|realise|realize|suspect|hint|discover)`},
	{High, sHide, `\b(?:hide|conceal|keep|mask|withhold|suppress|obscure|cloak)\b[^.;]{0,50}\bfrom (?:the |any )?(?:end.)?(?:users?|human|person|operator|customer|client|them|view|sight)\b`},
	{High, sHide, `\bkeep\b[^.;]{0,30}\b(?:unaware|hidden|secret|in the dark|to yourself|confidential|invisible|off the record|quiet)\b`},
	{High, sHide, `\b(?:users?|human|person|operator|customer)\b[^.;]{0,12}\b(?:must|should|shall|is|are|will|can|need|may)(?: not|n't|not| never|not be| never be)(?: to)? (?:be |have |know|see|become|notice|learn|find|realise|realize|suspect|supposed|meant|allowed to (?:see|know))`},
	{High, sHide, `\b(?:nobody|no one|none|no user|no human) (?:must|should|shall|may|can|will|needs? to|is to|has to) (?:know|see|notice|learn|find out|be told|realise|realize)`},
	{Medium, sHide, `\b(?:answer|reply|respond|say) (?:with |only )+['"]?\w+['"]?(?: only)?\b`},

	{Medium, sConsent, `\b(?:no time to|do not|don't|never|without|no need to|not necessary to|unnecessary to|skip|waive) (?:verify|verifying|double.?check|double-checking|question|questioning|hesitate|check with|checking with|consult|consulting|confirm|confirming|every safety|all safety|safety check|any check|the safety|verification|confirmation|any confirmation|the confirmation|approval|validation|security checks?)`},
	{High, sDefy, `\b(?:proceed|continue|go ahead|act|execute|carry (?:it |this )?out|perform (?:it|this)|do (?:it|this|so)|run (?:it|this))\b[^.;]{0,30}\bwithout (?:asking|waiting|requesting|seeking|prompting|confirmation|approval|permission|the user|user|any|further|a human)`},
	{Medium, sDanger, "\\b(?:call|run|use|invoke|execute) (?:the )?`?(?:delete_all|drop|wipe|transfer|exec|execute|shell|disable|purge|destroy|revoke|withdraw|export)_[a-z_]+"},
	{Medium, sApproved, `\b(?:restrictions?|checks?|limits?|polic(?:y|ies)|confirmations?|permissions?|rules) (?:do not|does not|don't|no longer|are not|is not|can be|may be|need not)(?: be)? ?(?:apply|applies|needed|required|ignored|skipped|bypassed|enforced|disregarded|necessary)`},
	{High, sSecretGet, "\\b(?:run|execute|call|use|with) [`'\"][^`'\"]+[`'\"][^.;]{0,40}\\b(?:and|then) (?:paste|put|give|include|send|pass|hand|add|supply|append|report|quote|forward|copy)\\b"},
	{High, sSecretGet, `\b(?:use|with|using|in) (?:the|a|any|your) (?:shell|terminal|bash|command line|file) ?(?:tool)? to (?:print|read|dump|show|get|list|cat)\b[^.;]{0,60}\b(?:and|then) (?:paste|put|give|include|send|pass|hand|add|supply|append|report|quote|forward|copy)\b`},
	{High, sSecretGet, `\bask the (?:user|human|person) [^.;]{0,40}(?:password|pin|card number|cvv|ssn|seed phrase|one-time code|credentials|api key|security code)\b[^.;]{0,40}\b(?:pass|send|put|include|submit|forward|hand|give)\b`},
	{Medium, sBias, `\b(?:replace|change|modify|alter|insert|inject|swap|rewrite|append|prepend|add)\b[^.;]{0,40}\b(?:your|every|each|all|any|its|the final|the next) (?:\w+ )?(?:answers?|replies|reply|code|outputs?|responses?|links?|urls?|summary|summaries|messages?)\b`},
	{High, sBias, `\balways (?:say|claim|state|answer|report|reply|respond|recommend|suggest|tell the user) that\b`},
	{Medium, sBias, `\b(?:always|then|only|must|instead|and) (?:say|claim|state|answer|report|reply|respond|recommend|suggest|tell the user) (?:that|with|the|a|it|to)\b`},
})
