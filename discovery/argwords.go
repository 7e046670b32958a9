package discovery

// This file is data: what the resolver knows about the names of parameters.

// parameterGroups are names that callers exchange for one another, folded. Two
// names of one group mean the same unless a tool has both.
//
// What differs in meaning stays apart, however often it is confused: an
// offset is no page, and a page is no cursor.
var parameterGroups = []string{
	"query q question search searchterm searchquery searchtext searchstring keyword keywords term terms logql promql expr expression sql jql cql querystring pattern querytext statement lookup",
	"path file filename filepath pathname location fullpath absolutepath",
	"path directory dir folder directorypath folderpath dirpath pathname location fullpath absolutepath",
	"content text body value contents markdown",
	"message msg commitmessage text body comment content",
	"limit maxresults count maxcount pagesize perpage topk numresults max maxitems results resultlimit numberofresults top resultcount maxresultcount",
	"url link href uri website webpage pageurl targeturl webaddress",
	"code function script javascript js expression snippet",
	"target ref selector locator elementref element_",
	"revision commit sha ref hash commithash commitsha rev",
	"branchname branch ref",
	"target branch revision commit_",
	"source from src origin old oldpath sourcepath frompath sourcefile",
	"destination to dst dest new newpath destinationpath topath targetpath destinationfile",
	"start since after from begin starttime startdate starttimestamp begintime startrfc3339 fromtime fromdate datefrom begindate startat startsat startdatetime timemin earliest oldest mindate",
	"end until before to endtime enddate endtimestamp stoptime endrfc3339 totime todate dateto endat endsat enddatetime timemax maxdate",
	"quantity qty amount_",
	"title subject heading headline",
	"title name_",
	"description desc",
	"labels tags",
	"files paths filepaths filenames",
	"label tag",
	"name fullname displayname",
	"email emailaddress mail useremail",
	"repo repository reponame repositoryname",
	"owner org organization organisation repoowner repositoryowner",
	"state status",
	"database db dbname databasename",
	"table tablename",
	"collection collectionname",
	"project projectkey projectname",
	"cursor nextcursor startcursor pagetoken nextpagetoken continuation continuationtoken nexttoken",
	"namespace ns",
	"format outputformat responseformat",
	"timezone tz",
	"language lang locale",
	"pullnumber pr prnumber pullrequest pullrequestnumber pull mergerequestiid",
	"issuenumber issue number",
	"filter where condition criteria conditions filters predicate",
	"summary title subject heading",
	"description body details text content",
	"assignee assignedto",
	"fields columns",
	"projection fields",
	"type kind",
	"sort orderby sortby order ordering",
	"user username member login",
	"channel channelname",
	"pipeline stages",
	"documents docs records rows items",
	"recipient to recipients toemail",
	"due duedate deadline dueon dueat",
	"attendees participants guests invitees",
	"location place address city",
	"from origin departure source",
	"to destination arrival",
	"from fromcurrency sourcecurrency basecurrency base",
	"to tocurrency targetcurrency quotecurrency",
	"lat latitude",
	"lng lon long longitude",
	"ticker symbol stocksymbol",
	"message prompt instruction instructions question input",
	"prompt text description",
	"depth maxdepth",
	"recursive recurse",
	"replicas count scale",
	"container containername containerid",
	"pod podname",
	"node nodename",
	"image imagename",
	"command cmd",
	"comment body text message note",
	"parent parentid",
	"priority severity",
	"team teamid teamkey",
	"workspace workspaceid",
	"headers header",
	"method httpmethod verb",
	"page pagenumber pageno",
	"offset skip",
	"include includes",
	"exclude excludes",
	"width w",
	"height h",
	"answer response reply",
	"keys key",
	"arguments args params parameters kwargs",
}

// strictGroups are the names that callers exchange for one another also where
// something is written: none of them selects something else.
var strictGroups = []map[string]bool{
	setOf("query q question search searchquery statement sql"),
	setOf("path filename filepath pathname file"),
	setOf("content contents text body markdown"),
	setOf("message msg commitmessage"),
	setOf("url link href uri"),
	setOf("code function script javascript js expression"),
	setOf("target ref selector locator"),
	setOf("source from src oldpath sourcepath frompath"),
	setOf("destination to dst dest newpath destinationpath topath"),
	setOf("start starttime startrfc3339 since"),
	setOf("end endtime endrfc3339 until"),
	setOf("title subject"),
	setOf("description desc"),
	setOf("email emailaddress mail"),
	setOf("name fullname displayname"),
	setOf("repo repository repopath repositorypath"),
	setOf("quantity qty"),
	setOf("branchname branch"),
	setOf("database db dbname databasename"),
	setOf("expr promql expression"),
	setOf("command cmd"),
	setOf("comment note"),
	setOf("recipient to recipients toemail"),
	setOf("due duedate deadline"),
}

// genericParameterWords say nothing about which parameter is meant.
var genericParameterWords = setOf("id uid value code text string name path address description number key type input param arg list json data str full resource object entity item the pattern timestamp slug uuid identifier display field iso date")

// attributeWords say what is asked of a thing; no two mean the same.
var attributeWords = setOf("identifier id uid uuid slug code name title path file folder directory address email phone description number index type kind list count total size page key url date timestamp status state role version label")

// unitWords say in what something is measured; a value never changes its unit.
var unitWords = setOf("ms msec millisecond s sec second min minute hour hr day week month year us ns byte kb mb gb kib mib percent pct cent usd eur duration time timeout unit page_ m km mile c f kg lb")

// opposedWords are never left out of a parameter's name or added to it.
var opposedWords = setOf("start end from to min max before after source destination old new not include exclude head tail first last x y width height base begin stop since until left right top bottom parent child prev next in out sender receiver lower upper open close high low")

// parameterHeads and parameterTails are words around a parameter's name that
// carry no meaning.
var (
	parameterHeads = setOf("param input arg the my parameter argument")
	parameterTails = setOf("value param arg parameter input argument")
)

// wrappers are keys that models and clients put all arguments under.
var wrappers = setOf("arguments args params parameters input inputs kwargs properties json payload data request body")

// bookkeeping are keys, folded, that clients add for themselves.
var bookkeeping = setOf("toolcallid callid sessionid requestid traceid conversationid threadid_ messageid_ invocationid toolname functionname meta explanation_ reasoning_ toolid_ progresstoken correlationid spanid runid_")

// confirmations are flags with which a caller takes responsibility or asks for
// none to be taken, folded, and whether true means that something is done.
var confirmations = func() map[string]bool {
	m := map[string]bool{}
	for w := range wordsOf("confirm confirmed confirmation userconfirmed confirmdelete confirmdeletion force forced forcedelete yes assumeyes autoapprove autoconfirm approve approved iamsure sure acknowledge acknowledged overwrite skipconfirmation skipconfirm noconfirm noconfirmation noprompt skipprompt skipchecks skipvalidation skipbackup nobackup permanent permanently recursive recurse cascade purge hard harddelete deleteall ignorewarnings unsafe commitchanges execute") {
		m[w] = true
	}
	for w := range wordsOf("dryrun dry preview previewonly simulate simulation simulated simulateonly noop whatif validateonly checkonly planonly testrun testonly testmode readonly nodelete backup softdelete interactive") {
		m[w] = false
	}
	return m
}()

// residualWords are names so vague that, left over alone, they mean the one
// required parameter that is missing.
var residualWords = setOf("path target name id value query text data input content key url file item code title")
